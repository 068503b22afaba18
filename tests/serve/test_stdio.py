"""The MCP server, with the SDK's client in memory and over a real pipe."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.server import MCPServer

from xkg.config import EmbeddingSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Paper, PaperBundle
from xkg.serve.answers.lookup import QUERIES_CHARACTERS
from xkg.serve.answers.quoting import NOTICE
from xkg.serve.answers.types import uri
from xkg.serve.service import Service
from xkg.serve.stdio import instructions, make_server
from xkg.store.local.store import EmbeddedStore

STEAM, SHORT = "title:bread/ovens#baking/steam", "bread-ovens#baking/steam"


@pytest.fixture(scope="module")
def server(graph: Path) -> Iterator[MCPServer]:
    service = Service(Settings(kg=graph, embedding=EmbeddingSettings(threads=1)))
    yield make_server(service)
    service.close()


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    said = str(result.content[0].text)  # type: ignore[union-attr]
    assert "Traceback" not in said
    assert "\n" not in said
    assert len(said) < 1200
    return said


async def test_tools_are_described_within_what_clients_show(server: MCPServer) -> None:
    async with Client(server) as client:
        assert len(instructions()) < 2048
        assert client.instructions == instructions()
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {
            "search_techniques",
            "find_implementations",
            "related_papers",
            "list_papers",
            "get_paper",
            "plan_context",
            "get_technique",
            "get_code",
            "locate",
            "graph_schema",
            "cypher",
        }
        for tool in tools:
            assert tool.description is not None
            assert len(tool.description) < 2048
            assert tool.output_schema is not None
            assert tool.annotations is not None
            hints = tool.annotations
            assert (hints.read_only_hint, hints.open_world_hint) == (True, False)


async def test_everything_else_is_described_within_that_too(server: MCPServer) -> None:
    assert len(instructions(("build", "implement", "run"))) < 2048

    def descriptions(value: Any) -> list[str]:
        if isinstance(value, dict):
            own = [value["description"]] if isinstance(value.get("description"), str) else []
            return own + [said for item in value.values() for said in descriptions(item)]
        return [said for item in value for said in descriptions(item)] if isinstance(value, list) else []

    async with Client(server) as client:
        offered = [
            await client.list_tools(),
            await client.list_resources(),
            await client.list_resource_templates(),
            await client.list_prompts(),
        ]
        said = descriptions([listed.model_dump(mode="json") for listed in offered])
        assert len(said) > 40
        assert max(map(len, said)) < 2048
        assert [p.name for p in (await client.list_prompts()).prompts] == [
            "replicate_paper",
            "plan_ablations",
            "implement_step",
        ]


async def test_empty_answers_say_what_to_try(server: MCPServer) -> None:
    async with Client(server) as client:
        for tool, arguments, words in (
            ("search_techniques", {"query": "consensus in replicated logs"}, "other words"),
            ("search_techniques", {"query": "steam", "first_year": 2999}, "drop one of them"),
            ("related_papers", {"paper": "title:bread/ovens", "exclude": ["arxiv:2001.00001"]}, "search_techniques"),
            ("locate", {"technique": "Scoring"}, "folder of a repository"),
            ("cypher", {"query": "MATCH (t:Technique {name: 'x'}) RETURN t"}, "graph_schema"),
        ):
            result = await client.call_tool(tool, arguments)
            assert result.structured_content is not None
            assert not result.structured_content.get("rows", result.structured_content.get("locations"))
            assert "cursor" not in result.structured_content
            assert words in str(result.content[0].text)  # type: ignore[union-attr]


async def test_from_a_search_to_the_code(server: MCPServer) -> None:
    async with Client(server) as client:
        rows = (await ask(client, "search_techniques", query="keep the crust soft while the loaf rises", k=3))["rows"]
        assert rows[0]["id"] == SHORT
        assert set(rows[0]) >= {"id", "name", "paper_title", "score", "level"}
        for reference in (rows[0]["id"], rows[0]["id"] + rows[0]["code"], "steam injection", STEAM):
            code = await ask(client, "get_code", id=reference)
            assert "water * 1700" in code["implementation"]
        assert "put the id of its technique before it" in await refused(client, "get_code", id=rows[0]["code"])
        paper = await ask(client, "get_paper", paper=(await ask(client, "get_technique", id=SHORT))["paper"])
        assert SHORT in [technique["id"] for technique in paper["techniques"]]


async def test_a_search_is_narrowed(server: MCPServer) -> None:
    query = "keep the crust soft while the loaf rises"

    async def found(**narrowed: Any) -> list[str]:
        answer = await ask(client, "search_techniques", query=query, **narrowed)
        return [row["id"] for row in answer["rows"]]

    async with Client(server) as client:
        assert SHORT in await found(language="PYTHON")
        for narrowed in (
            {"level": "faithful"},
            {"packages": ["no-such-package"]},
            {"language": "cobol"},
            {"exclude": [STEAM]},
            {"exclude": [SHORT]},
            {"exclude": ["title:bread/ovens"]},
            {"first_year": 2999},
            {"last_year": 1900},
        ):
            assert SHORT not in await found(**narrowed), narrowed
        assert "level" in await refused(client, "search_techniques", query=query, level="perfect")


async def test_a_plan_is_the_same_text_in_both_channels_and_within_its_budget(server: MCPServer) -> None:
    async with Client(server) as client:
        result = await client.call_tool(
            "plan_context", {"paper": "Bread Ovens: a Study of Crust", "budget_tokens": 300}
        )
        said = str(result.content[0].text)  # type: ignore[union-attr]
        assert result.structured_content is not None
        first, plan, last, _ = re.split(r"(?<=>>>)\n|\n(?=<<<end)|\n$", said)
        assert plan == result.structured_content["context"]
        assert len(plan) <= 4 * 300
        assert first.split()[1].rstrip(":") == last.split()[-1].rstrip(">")
        assert f"`{SHORT.removeprefix('bread-ovens')}`: code executed" in said
        assert "no paper" in await refused(client, "plan_context", paper="Cheese")


async def test_places_name_their_technique_by_its_short_id(server: MCPServer) -> None:
    async with Client(server) as client:
        for detail, named in (("concise", SHORT), ("full", STEAM)):
            result = await client.call_tool("locate", {"technique": STEAM, "detail": detail})
            assert result.structured_content is not None
            assert [place["technique"] for place in result.structured_content["locations"]] == [named]
            again = await client.call_tool("locate", {"technique": named, "detail": detail})
            assert again.structured_content is not None
            assert again.structured_content["locations"] == result.structured_content["locations"]


async def test_a_paper_names_those_related_to_it(server: MCPServer) -> None:
    async with Client(server) as client:
        answer = await ask(client, "related_papers", paper="title:bread/ovens")
        assert answer["paper"] == "title:bread/ovens"
        assert "title:bread/ovens" not in [row["id"] for row in answer["rows"]]
        left = await ask(client, "related_papers", paper="title:bread/ovens", exclude=[r["id"] for r in answer["rows"]])
        assert left["rows"] == []
        assert "nearest" in await refused(client, "related_papers", paper="title:bred")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_techniques", {"query": "Hearth Baking"}),
        ("search_techniques", {"query": "consensus by leader election in replicated logs"}),
        ("search_techniques", {"query": "keep the crust soft", "level": "parsed", "language": "python", "k": 2}),
        ("related_papers", {"paper": "title:bread/ovens"}),
        ("get_paper", {"paper": "title:bread/ovens", "include_code": True, "detail": "full"}),
        ("get_technique", {"id": STEAM, "detail": "full"}),
        ("get_code", {"id": STEAM, "detail": "full"}),
        ("locate", {"technique": STEAM}),
        ("locate", {"technique": "Scoring"}),
        ("locate", {"technique": "keep the crust soft while the loaf rises"}),
        ("graph_schema", {}),
        ("cypher", {"query": "MATCH (t:Technique) RETURN t.id, t.depth ORDER BY t.id"}),
    ],
)
async def test_text_carries_every_fact_of_the_structure(
    server: MCPServer, tool: str, arguments: dict[str, Any]
) -> None:
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
        said = seen(str(result.content[0].text))  # type: ignore[union-attr]
        assert [fact for fact in facts(result.structured_content) if seen(fact) not in said] == []


def seen(text: str) -> str:
    """Without the marks of quoted lines, and however white space lies."""
    return " ".join(re.sub(r"^>", "", text, flags=re.M).split())


def facts(value: Any) -> list[str]:
    """Every text and number of structured content, but for what the caller said and how deep an indented line is."""
    if isinstance(value, dict):
        return [fact for key, item in value.items() if key not in ("query", "notice", "depth") for fact in facts(item)]
    if isinstance(value, list):
        return [fact for item in value for fact in facts(item)]
    if value is None or value in ("", False, True, 0):
        return []
    return [f"{value:g}" if isinstance(value, float) else str(value)]


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("get_technique", {"id": "title:bread/ovens#baking/steem"}, "bread-ovens#baking/steam"),
        ("get_code", {"id": STEAM + "@000000000000"}, "no code"),
        ("get_paper", {"paper": "arxiv:2001.00002"}, "arxiv:2001.00001"),
        ("get_paper", {"paper": "Calm Horses"}, "arxiv:2001.00001"),
        ("search_techniques", {"query": "x", "papers": ["doi:none"]}, "list_papers has what is there"),
        ("cypher", {"query": "MATCH (n) SET n.x = 1"}, "SET"),
        ("cypher", {"query": "CALL apoc.load.json('x')"}, "apoc.load.json"),
        ("cypher", {"query": "MATCH (n:Nope) RETURN n"}, "Nope"),
        ("cypher", {"query": "RETURN $x AS x", "parameters": {"x": {"a": 1}}}, "parameter $x"),
        ("cypher", {"query": "component-trees"}, "nearest: component-tree"),
        ("cypher", {"query": "component-tree"}, "parameter paper is missing"),
        ("cypher", {"query": "find-paper", "parameters": {"text": 5}}, "parameter text of find-paper is a string"),
        ("search_techniques", {"query": ""}, "query"),
        ("search_techniques", {"query": "x", "k": 1000}, "k"),
        ("get_code", {"id": STEAM, "detail": "everything"}, "detail"),
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
        ("get_technique", {"code": STEAM}, {"id": STEAM}),
        ("get_paper", {"id": "title:bread/ovens"}, {"paper": "title:bread/ovens"}),
        (
            "search_techniques",
            {"query": "steam", "exclude": STEAM},
            {"query": "steam", "exclude": [STEAM]},
        ),
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


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("locate", {"technique": "steam", "repo": "/somewhere"}, "locate: there is no argument 'repo'; use repository"),
        ("get_paper", {"paper": "x", "include_codes": True}, "use include_code"),
        ("search_techniques", {"query": "x", "limit": 3, "zzzz": 1}, "there is no argument 'limit'"),
        ("graph_schema", {"\u202eid": 1}, r"there is no argument '\u202eid'; it takes detail"),
    ],
)
async def test_an_argument_that_a_tool_does_not_take_is_refused(
    server: MCPServer, tool: str, arguments: dict[str, Any], words: str
) -> None:
    async with Client(server) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert words in str(result.content[0].text)  # type: ignore[union-attr]


async def test_an_argument_that_a_prompt_does_not_take_is_refused(server: MCPServer) -> None:
    async with Client(server) as client:
        with pytest.raises(MCPError, match="replicate_paper: there is no argument 'repo'; use repository"):
            await client.get_prompt("replicate_paper", {"paper": "x", "repo": "y"})


async def test_cypher_answers_rows_and_says_what_it_cut(server: MCPServer) -> None:
    async with Client(server) as client:
        answer = await ask(
            client,
            "cypher",
            query="MATCH (p:Paper {id: $id})-[r:PROPOSES]->(t) RETURN t.name AS name, r.`order` AS n",
            parameters={"id": "arxiv:2001.00001"},
        )
        assert answer == {"notice": NOTICE, "columns": ["name", "n"], "rows": [["Bee Keeping", 0]]}
        few = await ask(client, "cypher", query="MATCH (t:Technique) RETURN t.id", limit=2)
        assert len(few["rows"]) == 2
        assert few["cut"] == "all after the first 2 rows: ask with the cursor"


async def test_cypher_takes_the_name_of_a_query_that_the_schema_lists(server: MCPServer) -> None:
    async with Client(server) as client:
        listed = (await ask(client, "graph_schema", detail="full"))["queries"]
        assert any(line.startswith("component-tree(paper: string): The techniques of a paper") for line in listed)
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
    async with Client(make_server(service)) as client:
        for tool, arguments in (
            ("search_techniques", {"query": "x"}),
            ("get_paper", {"paper": "x"}),
            ("graph_schema", {}),
            ("cypher", {"query": "RETURN 1"}),
        ):
            assert "xkg build" in await refused(client, tool, **arguments)
    assert not (tmp_path / "none").exists()


async def test_a_reader_moves_on_to_a_new_generation_between_calls(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    store = EmbeddedStore(tmp_path / "kg", lambda: embedder)
    store.publish([PaperBundle(paper=Paper(id="title:a", title="A", origin="build"))])
    service = Service(Settings(kg=tmp_path / "kg", embedding=EmbeddingSettings(threads=1)))
    async with Client(make_server(service)) as client:
        assert (await ask(client, "cypher", query="MATCH (p:Paper) RETURN count(*) AS n"))["rows"] == [[1]]
        store.publish([PaperBundle(paper=Paper(id="title:b", title="B", origin="build"))])
        assert (await ask(client, "get_paper", paper="B"))["id"] == "title:b"
        assert (await ask(client, "cypher", query="MATCH (p:Paper) RETURN count(*) AS n"))["rows"] == [[2]]
    service.close()
    store.close()


async def test_over_a_real_pipe(graph: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "xkg.commands.serve", "--kg", str(graph)], env={**os.environ}
    )
    async with Client(command) as client:
        assert (await ask(client, "search_techniques", query="Scoring"))["rows"][0]["score"] == 1.0
        assert (await ask(client, "cypher", query="MATCH (c:Code) RETURN count(*) AS n"))["rows"] == [[2]]
        assert "list_papers" in await refused(client, "get_technique", id="nothing")


def test_stdout_carries_only_protocol_and_initialize_needs_no_model(graph: Path) -> None:
    """Answered, though the heavy libraries cannot be imported at all."""
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
