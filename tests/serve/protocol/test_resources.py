"""Tests lists of papers as resources, progress reports, and how long clients may cache lists."""

import os
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.conftest import ROOT
from xkg.serve.protocol import resources
from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served
from xkg.serve.service import Service


async def test_papers_are_resources_page_by_page(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "PAPERS_OF_A_PAGE", 1)
    async with Client(make_server(Served(service))) as client:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        papers = [each for each in (*first.resources, *second.resources) if str(each.uri).startswith("xkg://paper/")]
        assert (len(papers), second.next_cursor) == (2, None)
        assert "xkg://schema" in [str(each.uri) for each in first.resources]
        assert (await client.read_resource(papers[0].uri)).contents
        with pytest.raises(Exception, match="does not belong to this query"):
            await client.list_resources(cursor="zz")


async def test_over_a_pipe_a_client_hears_of_progress_and_how_long_to_keep_a_list(graph: Path) -> None:
    start = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from xkg.serve.protocol import tool_errors; "
        "tool_errors.EVERY_SECONDS = 0.002; from xkg.cli.main import main; main()"
    )
    server = StdioServerParameters(
        command=sys.executable, args=["-c", start, "--kg", str(graph), "serve"], env=dict(os.environ)
    )
    heard: list[tuple[float, str]] = []

    async def progressed(seconds: float, _total: float | None, message: str | None) -> None:
        heard.append((seconds, message or ""))

    async with Client(server) as client:
        await client.call_tool("search_techniques", {"query": "steam"}, progress_callback=progressed)
        assert heard == sorted(heard)
        assert heard[0][1].startswith("search_techniques has been running for ")
        tools = await client.list_tools()
        assert (tools.ttl_ms, tools.cache_scope) == (600_000, "private")
