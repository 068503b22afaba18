"""What a client has open may be named in `locate`, over a real pipe to the server of `xkg serve`."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ListRootsResult, Root
from pydantic import FileUrl

from tests.conftest import EXAMPLE, ROOT
from xkg.serve import client_roots


def command(graph: Path, started: Path, **environment: str) -> StdioServerParameters:
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from xkg.cli.main import main; main()"
    return StdioServerParameters(
        command=sys.executable,
        args=["-c", start, "--kg", str(graph), "serve"],
        env={**os.environ, **environment},
        cwd=started,
    )


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A folder to start in, and a project elsewhere that the client has open."""
    started, project = tmp_path / "started", tmp_path / "a project"
    started.mkdir()
    shutil.copytree(EXAMPLE / "code", project / "code")
    return started, project


async def located(server: StdioServerParameters, folder: Path, roots: list[Path] | None) -> Any:
    async def list_roots(_: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(root.as_uri())) for root in roots or ()])

    async with (
        stdio_client(server) as (read, write),
        ClientSession(read, write, list_roots_callback=None if roots is None else list_roots) as session,
    ):
        await session.initialize()
        return await session.call_tool("locate", {"technique": "median heuristic", "repository": str(folder)})


async def test_a_root_of_the_client_may_be_searched(graph: Path, places: tuple[Path, Path]) -> None:
    started, project = places
    server = command(graph, started)
    assert (await located(server, project / "code", None)).is_error
    assert (await located(server, project / "code", [])).is_error
    found = await located(server, project / "code", [project])
    assert not found.is_error, found.content
    assert found.structured_content["locations"][0]["path"] == "svgd/kernels.py"
    assert (await located(server, project / "code", [Path("/"), Path.home(), started])).is_error


async def test_folders_that_the_operator_named_are_all_there_is(graph: Path, places: tuple[Path, Path]) -> None:
    started, project = places
    server = command(graph, started, XKG_SERVE__ROOTS=f'["{started}"]')
    assert (await located(server, project / "code", [project])).is_error


@pytest.mark.parametrize(
    "uri", ["https://example.org/a", "file://other.example/etc", "file:///no/such/folder", "file:///%00", "file:///"]
)
def test_an_address_that_is_no_folder_here_is_passed_over(uri: str) -> None:
    assert client_roots._folder(uri) is None
