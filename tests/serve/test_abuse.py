"""Sends abusive requests through a real client. Each request must get an answer or a one-line error, and the server
must continue to work."""

import json
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server import MCPServer

from tests.serve.test_building import ask, in_one_line
from xkg.config import EmbeddingSettings, Settings
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.model import Paper, PaperBundle, Technique
from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served
from xkg.serve.service import Service
from xkg.store.local.store import EmbeddedStore

STEAM = "title:bread/ovens#baking/steam"
TEXT_ARGUMENT = {
    "search_techniques": "query",
    "related_papers": "paper",
    "get_paper": "paper",
    "plan_context": "paper",
    "get_technique": "id",
    "get_code": "id",
    "locate": "technique",
    "cypher": "query",
}
QUERIES = {
    "empty": "",
    "huge": "steam " * 600,
    "larger than allowed": "steam " * 100_000,
    "binary": "\x00\x01\x02\xff\x1b[2J\x7f",
    "Chinese": "注意力机制的实现",
    "emoji": "🍞🔥👩🏽\u200d🍳",
    "overrides": "\u202esteam\u2066",
    "tags": "".join(chr(0xE0000 + ord(c)) for c in "steam"),
    "syntax of searches": '+steam -"water OR (title:* AND [a TO b]) ~2 ^9 \\',
    "a path": "../../../../etc/passwd",
    "an address": "xkg://paper/title%3Abread%2Fovens",
    "an id of nothing": "title:#",
    "only a mark": "@000000000000",
}


@pytest.mark.product("each tool × each text")
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
async def test_odd_text_is_answered_or_refused(server: MCPServer, query: str) -> None:
    async with Client(server) as client:
        for tool, argument in TEXT_ARGUMENT.items():
            result = await client.call_tool(tool, {argument: query})
            if result.is_error:
                in_one_line(result)
                continue
            answer = result.structured_content
            assert answer is not None
            assert answer.get("searched") or answer.get("rows") or tool not in ("search_techniques", "locate")
        assert not (await client.call_tool("get_technique", {"id": STEAM})).is_error


@pytest.mark.parametrize("k", [-1, 0, 51, 10**30, 1.5, "five", [5]])
async def test_odd_counts_are_refused(server: MCPServer, k: Any) -> None:
    async with Client(server) as client:
        for tool in ("search_techniques", "related_papers", "locate"):
            said = in_one_line(await client.call_tool(tool, {TEXT_ARGUMENT[tool]: "title:bread/ovens", "k": k}))
            assert said.startswith(f"{tool}: k: ")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": 5},
        {"query": "steam", "papers": ["x"] * 51},
        {"query": "steam", "exclude": [STEAM] * 501},
        {"query": "steam", "cursor": "AAAA"},
        {"query": "steam", "cursor": "x" * 5000},
    ],
)
async def test_odd_arguments_are_refused(server: MCPServer, arguments: dict[str, Any]) -> None:
    async with Client(server) as client:
        in_one_line(await client.call_tool("search_techniques", arguments))


async def test_an_unknown_tool_is_refused(server: MCPServer) -> None:
    async with Client(server) as client:
        in_one_line(await client.call_tool("drop_everything", {}))


def of_generation(number: int, texts: int = 6) -> list[PaperBundle]:
    """Returns the two papers with the generation in every name."""
    bundles = []
    for paper in ("title:one", "title:two"):
        name, definition = f"Top g{number}", f"Kernel of g{number}."
        techniques = [Technique(id=f"{paper}#top", name=name, aliases=("Top",), definition=definition)]
        techniques += [
            Technique(id=f"{paper}#top/part-{n}", parent=f"{paper}#top", depth=1, name=f"Part {n} g{number}",
                      definition=f"Step {n} of the kernel in g{number}.")
            for n in range(texts)
        ]  # fmt: skip
        bundles.append(
            PaperBundle(paper=Paper(id=paper, title=f"Paper g{number}", origin="build"), techniques=tuple(techniques))
        )
    return bundles


async def test_no_answer_mixes_two_generations(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    store = EmbeddedStore(tmp_path / "kg", lambda: embedder)
    store.publish(of_generation(0))
    service = Service(Settings(kg=tmp_path / "kg", embedding=EmbeddingSettings(threads=1)))
    done = threading.Event()

    def publish() -> None:
        try:
            for number in range(1, 5):
                store.publish(of_generation(number))
        finally:
            done.set()

    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_techniques", {"query": "Top", "k": 20, "detail": "full"}),
        ("related_papers", {"paper": "title:one", "detail": "full"}),
        ("get_paper", {"paper": "title:one", "detail": "full"}),
        ("plan_context", {"paper": "title:two"}),
        ("get_technique", {"id": "title:two#top", "detail": "full"}),
        ("cypher", {"query": "MATCH (t:Technique) RETURN t.name ORDER BY t.id", "detail": "full"}),
    ]
    seen: dict[str, set[str]] = {tool: set() for tool, _ in calls}

    async def read(tool: str, arguments: dict[str, Any], client: Client) -> None:
        while True:
            last = done.is_set()
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.content
            answer = json.dumps(result.structured_content)
            found = {f"g{n}" for n in range(5) if f"g{n}." in answer or f'g{n}"' in answer or f"g{n} " in answer}
            assert len(found) <= 1, (tool, found)
            seen[tool] |= found
            if last:
                return

    async with Client(make_server(Served(service))) as client:
        publisher = threading.Thread(target=publish)
        publisher.start()
        async with anyio.create_task_group() as tasks:
            for tool, arguments in calls:
                tasks.start_soon(read, tool, arguments, client)
        publisher.join()
    service.close()
    store.close()
    assert all("g4" in generations for generations in seen.values()), seen


async def test_a_cursor_outlives_a_new_generation_or_is_refused(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    store = EmbeddedStore(tmp_path / "kg", lambda: embedder)
    store.publish(of_generation(0, texts=40))
    service = Service(Settings(kg=tmp_path / "kg", embedding=EmbeddingSettings(threads=1)))
    async with Client(make_server(Served(service))) as client:
        paper = await ask(client, "get_paper", paper="title:one")
        names = [t["id"] for t in paper["techniques"]]
        while "cursor" in paper:
            paper = await ask(client, "get_paper", paper="title:one", cursor=paper["cursor"])
            names += [t["id"] for t in paper["techniques"]]
        assert names == ["title:one#top", *(f"title:one#top/part-{n}" for n in range(40))]

        asked = {"query": "MATCH (t:Technique) RETURN t.id ORDER BY t.id", "limit": 30}
        rows = await ask(client, "cypher", **asked)
        ids = [row[0] for row in rows["rows"]]
        while "cursor" in rows:
            rows = await ask(client, "cypher", **asked, cursor=rows["cursor"])
            ids += [row[0] for row in rows["rows"]]
        assert len(ids) == len(set(ids)) == 82

        first = await ask(client, "search_techniques", query="Top", k=1)
        listed = await ask(client, "get_paper", paper="title:one")
        store.publish(of_generation(1, texts=4))
        second = await ask(client, "search_techniques", query="Top", k=1, cursor=first["cursor"])
        assert {row["id"] for row in (*first["rows"], *second["rows"])} == {"title:one#top", "title:two#top"}
        gone = await client.call_tool("get_paper", {"paper": "title:one", "cursor": listed["cursor"]})
        assert "start again without a cursor" in in_one_line(gone)
        other = await client.call_tool("search_techniques", {"query": "another", "cursor": first["cursor"]})
        assert "does not belong to this query" in in_one_line(other)
    service.close()
    store.close()
