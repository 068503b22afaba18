"""Checks that `locate` may read the folders that a client over stdio has open."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import ListRootsResult, Root
from pydantic import FileUrl

from tests.conftest import EXAMPLE
from xkg.serve.protocol import client_roots
from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served
from xkg.serve.service import Service


async def test_a_root_of_the_client_may_be_searched(service: Service, tmp_path: Path) -> None:
    started, project = tmp_path / "started", tmp_path / "a project"
    started.mkdir()
    shutil.copytree(EXAMPLE / "code", project / "code")

    async def located(roots: list[Path] | None, follow: bool = True) -> Any:
        async def list_roots(_: object) -> ListRootsResult:
            return ListRootsResult(roots=[Root(uri=FileUrl(root.as_uri())) for root in roots or ()])

        server = make_server(Served(service, [started]), client_roots=follow)
        given = None if roots is None else list_roots
        async with Client(server, mode="legacy", list_roots_callback=given) as client:
            asked = {"technique": "median heuristic", "repository": str(project / "code")}
            return await client.call_tool("locate", asked)

    for roots in (None, [], [Path("/"), Path.home(), started]):
        assert (await located(roots)).is_error
    found = await located([project])
    assert not found.is_error, found.content
    assert found.structured_content["locations"][0]["path"] == "svgd/kernels.py"
    assert (await located([project], follow=False)).is_error, "folders that the operator named are all there is"


@pytest.mark.parametrize(
    "uri", ["https://example.org/a", "file://other.example/etc", "file:///no/such/folder", "file:///%00", "file:///"]
)
def test_an_address_that_is_no_folder_here_is_passed_over(uri: str) -> None:
    assert client_roots._folder(uri) is None
