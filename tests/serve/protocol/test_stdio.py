"""Tests the MCP server with the SDK's client in memory and over a real pipe."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer

from tests.serve.test_building import ask, refused
from xkg.config import EmbeddingSettings, Settings
from xkg.serve.answers.lookup import QUERIES_CHARACTERS
from xkg.serve.answers.types import uri
from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served
from xkg.serve.service import Service

STEAM, SHORT = "title:bread/ovens#baking/steam", "bread-ovens#baking/steam"


async def test_tools_are_described_within_what_clients_show(server: MCPServer) -> None:
    async with Client(server) as client:
        assert "Nothing here changes the graph" in (client.instructions or "")
        assert len(client.instructions or "") < 2048
        for tool in (await client.list_tools()).tools:
            assert len(tool.description or "") < 2048
            assert tool.annotations is not None
            assert (tool.annotations.read_only_hint, tool.annotations.open_world_hint) == (True, False)


async def test_from_a_search_to_the_code(server: MCPServer) -> None:
    async with Client(server) as client:
        rows = (await ask(client, "search_techniques", query="keep the crust soft while the loaf rises", k=3))["rows"]
        assert rows[0]["id"] == SHORT
        assert set(rows[0]) >= {"id", "name", "paper_title", "score", "level"}
        for reference in (rows[0]["id"], rows[0]["id"] + rows[0]["code"], "steam injection", STEAM):
            code = await ask(client, "get_code", id=reference)
            assert "water * 1700" in code["implementation"]
        assert "put the technique's id before it" in await refused(client, "get_code", id=rows[0]["code"])
        paper = await ask(client, "get_paper", paper=(await ask(client, "get_technique", id=SHORT))["paper"])
        assert SHORT in [technique["id"] for technique in paper["techniques"]]


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("get_technique", {"id": "title:bread/ovens#baking/steem"}, "bread-ovens#baking/steam"),
        ("get_code", {"id": STEAM + "@000000000000"}, "no code"),
        ("get_paper", {"paper": "arxiv:2001.00002"}, "arxiv:2001.00001"),
        ("search_techniques", {"query": "x", "papers": ["doi:none"]}, "list_papers lists the papers"),
        ("cypher", {"query": "MATCH (n) SET n.x = 1"}, "SET"),
        ("cypher", {"query": "MATCH (n:Nope) RETURN n"}, "Nope"),
        ("cypher", {"query": "component-tree"}, "parameter paper is missing"),
        ("get_code", {"id": STEAM, "detail": "everything"}, "detail"),
        ("locate", {"technique": "steam", "repo": "/somewhere"}, "locate: there is no argument 'repo'; use repository"),
        ("search_techniques", {"query": "x", "limit": 3, "zzzz": 1}, "there is no argument 'limit'"),
        ("graph_schema", {"\u202eid": 1}, r"there is no argument '\u202eid'; it takes detail"),
    ],
)
async def test_errors_are_raised_in_our_words(
    server: MCPServer, tool: str, arguments: dict[str, Any], words: str
) -> None:
    async with Client(server) as client:
        assert words in await refused(client, tool, **arguments)


@pytest.mark.parametrize(
    ("tool", "given", "meant"),
    [
        ("get_technique", {"technique": STEAM}, {"id": STEAM}),
        ("get_paper", {"id": "title:bread/ovens"}, {"paper": "title:bread/ovens"}),
        (
            "search_techniques",
            {"query": "steam", "papers": "title:bread/ovens", "packages": "torch"},
            {"query": "steam", "papers": ["title:bread/ovens"], "packages": ["torch"]},
        ),
        ("cypher", {"query": "```cypher\nRETURN 1 AS one;\n```\n"}, {"query": "RETURN 1 AS one"}),
    ],
)
async def test_arguments_as_models_write_them_are_understood(
    server: MCPServer, tool: str, given: dict[str, Any], meant: dict[str, Any]
) -> None:
    async with Client(server) as client:
        assert await ask(client, tool, **given) == await ask(client, tool, **meant)


async def test_cypher_takes_the_name_of_a_query_that_the_schema_lists(server: MCPServer) -> None:
    async with Client(server) as client:
        listed = (await ask(client, "graph_schema", detail="full"))["queries"]
        assert any(line.startswith("component-tree(paper: string): A paper's techniques") for line in listed)
        told = (await client.call_tool("graph_schema", {"detail": "full"})).content[0].text  # type: ignore[union-attr]
        assert all(line in told for line in listed)
        tree = await ask(client, "cypher", query="component-tree", parameters={"paper": "title:bread/ovens"})
        names = [row[tree["columns"].index("technique")] for row in tree["rows"]]
        assert names == ["Hearth Baking", "Steam Injection (SI)", "Scoring"]
        few = await ask(client, "cypher", query="find-technique", parameters={"text": "steam", "limit": 1})
        assert [row[0] for row in few["rows"]] == ["Steam Injection (SI)"]


async def test_every_example_query_of_the_schema_runs(server: MCPServer) -> None:
    async with Client(server) as client:
        schema = await ask(client, "graph_schema", detail="full")
        assert sum(map(len, schema["queries"])) <= QUERIES_CHARACTERS
        for example in schema["examples"]:
            await ask(client, "cypher", query=example, parameters={"word": "steam"} if "$word" in example else {})


async def test_resources_are_read_by_percent_encoded_ids(server: MCPServer) -> None:
    async with Client(server) as client:
        for kind, node_id in (("paper", "title:bread/ovens"), ("technique", STEAM), ("code", STEAM)):
            content = (await client.read_resource(uri(kind, node_id))).contents[0]
            assert json.loads(content.text)["id"].startswith(node_id)  # type: ignore[union-attr]
        schema = (await client.read_resource("xkg://schema")).contents[0]
        assert "CREATE NODE TABLE Technique" in schema.text  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="nearest"):
            await client.read_resource(uri("technique", "title:bread/ovens#none"))


async def test_an_empty_graph_says_what_to_do(tmp_path: Path) -> None:
    service = Service(Settings(kg=tmp_path / "none", embedding=EmbeddingSettings()))
    async with Client(make_server(Served(service))) as client:
        for tool, arguments in (
            ("search_techniques", {"query": "x"}),
            ("get_paper", {"paper": "x"}),
            ("graph_schema", {}),
            ("cypher", {"query": "RETURN 1"}),
        ):
            assert "xkg build" in await refused(client, tool, **arguments)
    assert not (tmp_path / "none").exists()


def test_stdout_carries_only_protocol_and_initialize_needs_no_model(graph: Path) -> None:
    """The server must answer even though the heavy libraries cannot be imported."""
    blocked = (
        "import sys, runpy\n"
        "for name in ('faiss', 'onnxruntime', 'tantivy', 'ladybug', 'numpy', 'tokenizers'): sys.modules[name] = None\n"
        f"sys.argv = ['serve', '--kg', {str(graph)!r}]\n"
        "runpy.run_module('xkg.commands.serve', run_name='__main__')\n"
    )
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    done = subprocess.run(
        [sys.executable, "-c", blocked], input=json.dumps(request) + "\n", capture_output=True, text=True, timeout=60
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["id"] for line in lines] == [1]
    assert lines[0]["result"]["serverInfo"]["name"] == "xkg"
