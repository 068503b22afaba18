"""Checks that the answers of tools stay short even if any text of a paper is long."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.server import MCPServer

from tests.serve.conftest import opened, published
from tests.serve.long_texts import PAPER, TECHNIQUE, long_texts
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.serve.answers.budget import TOKENS
from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_techniques", {"query": "word"}),
    ("list_papers", {}),
    ("get_paper", {"paper": PAPER}),
    ("get_technique", {"id": TECHNIQUE}),
    ("get_code", {"id": TECHNIQUE}),
    ("locate", {"technique": TECHNIQUE}),
    ("related_papers", {"paper": PAPER}),
    ("cypher", {"query": "MATCH (r:Repository) RETURN r.url, r.license"}),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, embedder: OnnxEmbedder) -> Iterator[MCPServer]:
    with opened(published(tmp_path_factory.mktemp("long"), embedder, long_texts(100_000))) as service:
        yield make_server(Served(service))


@pytest.mark.parametrize("detail", ["concise", "full"])
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_an_answer_is_within_its_budget(
    server: MCPServer, tool: str, arguments: dict[str, Any], detail: str
) -> None:
    async with Client(server) as client:
        answer = await client.call_tool(tool, {**arguments, "detail": detail})
    assert not answer.is_error, answer.content
    most = 1.2 * 4 * TOKENS["full"]  # the budget does not count quotes and marks
    assert len(json.dumps(answer.structured_content)) <= most
    assert sum(len(getattr(part, "text", "")) for part in answer.content) <= most
