"""Tests the building tools over HTTP with tokens, and over stdio."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from tests.conftest import EXAMPLE, ROOT
from tests.serve.http_server import Running, running
from xkg.config import LlmSettings, ServeBuildSettings
from xkg.serve.http.tokens import SCOPES, Tokens

TOOLS = {"build", "questions", "answer", "job_status", "cancel_job"}
SECONDS = 120
SVGD = "title:a-short-account-of-stein-variational-gradient-descent"


@pytest.fixture(autouse=True)
def _without_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_LLM__MODEL", "none")
    monkeypatch.setenv("XKG_ENVIRONMENT__MAX_MB", "0")
    monkeypatch.setenv("XKG_PRUNE__MIN_LEVEL", "parsed")
    monkeypatch.setenv("XKG_SERVE__ROOTS", str(EXAMPLE))


@pytest.fixture
def building(graph_copy: Path) -> Iterator[Running]:
    allowed = ServeBuildSettings(allowed=True)
    with running(graph_copy, build=allowed, llm=LlmSettings(model="none"), roots=(EXAMPLE,)) as server:
        yield server


@asynccontextmanager
async def connected(server: Running, token: str) -> AsyncIterator[Client]:
    async with AsyncExitStack() as opened:
        web = await opened.enter_async_context(httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}))
        yield await opened.enter_async_context(Client(streamable_http_client(server.url, http_client=web)))


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return in_one_line(result)


def in_one_line(result: CallToolResult) -> str:
    """Returns the text of an error. Checks that it is one line without internal details."""
    said = str(result.content[0].text)  # type: ignore[union-attr]
    assert "\n" not in said.strip()
    assert len(said) < 1200
    assert "Traceback" not in said
    assert "because of a server error" not in said
    return said


async def ended(client: Client, job: int) -> dict[str, Any]:
    async with asyncio.timeout(SECONDS):
        while True:
            (row,) = (await ask(client, "job_status", job=job))["jobs"]
            if row["state"] not in ("queued", "running"):
                return dict(row)
            await asyncio.sleep(0.1)


async def test_a_paper_is_built_and_found(building: Running, graph_copy: Path) -> None:
    token = Tokens(graph_copy).create("laptop", SCOPES)
    async with connected(building, token) as client:
        assert "To add a missing paper, call build" in (client.instructions or "")
        job = await ask(client, "build", paper="paper/svgd.tex", repository="code")
        assert (job["job"], job["state"] in ("queued", "running"), job["asked_by"]) == (1, True, "laptop")
        again = await ask(client, "build", paper=str(EXAMPLE / "paper" / "svgd.tex"), repository="code")
        assert (again["job"], "started by an earlier request" in again["note"]) == (1, True)
        row = await ended(client, 1)
        assert (row["state"], row["error"], row["result"]["paper"]) == ("done", "", SVGD)
        assert [stage["name"] for stage in row["stages"]][:2] == ["parse", "fetch"]
        paper = await ask(client, "get_paper", paper=row["result"]["paper"])
        assert len(paper["techniques"]) == row["result"]["techniques"]
        shown = await client.call_tool("job_status", {})
        assert "job 1: done" in shown.content[0].text  # type: ignore[union-attr]


async def test_what_a_stranger_may_not_name_is_refused_and_starts_nothing(building: Running, graph_copy: Path) -> None:
    token = Tokens(graph_copy).create("laptop", ("read", "build"))
    async with connected(building, token) as client:
        for paper in ("/etc/passwd", "../../README.md", "file:///etc/passwd", "--help", "https://evil.example/a.tex"):
            await refused(client, "build", paper=paper)
        for repository in ("/", "ext::sh -c id", "https://127.0.0.1/o/n", "--x"):
            await refused(client, "build", paper="paper/svgd.tex", repository=repository)
        assert "no job 7" in await refused(client, "job_status", job=7)
        assert (await ask(client, "job_status"))["jobs"] == []


async def test_tools_that_build_say_that_they_change_something(building: Running) -> None:
    async with Client(building.url) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools if tool.name in TOOLS}
        assert set(tools) == TOOLS
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert all(hint is not None for hint in hints.values())
        assert [name for name, hint in hints.items() if hint and hint.read_only_hint] == ["job_status"]
        assert hints["build"] is not None
        assert (hints["build"].destructive_hint, hints["build"].open_world_hint) == (True, True)
        assert all(tool.output_schema and len(tool.description or "") < 2048 for tool in tools.values())


def stdio(graph: Path, *options: str) -> StdioServerParameters:
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from xkg.cli.main import main; main()"
    arguments = ["-c", start, "--kg", str(graph), "serve", *options]
    return StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ), cwd=EXAMPLE)
