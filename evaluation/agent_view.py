"""The answers that an agent sees: those of `xkg serve` over stdio, asked with only a query."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from xkg.serve.answers.references import technique_id
from xkg.store.graph_store import Snapshot

QUERY = {"search_techniques": "query", "find_implementations": "task"}


def ask(kg: Path, tool: str, queries: Sequence[str]) -> list[dict[str, Any]]:
    """The structured content of the answer to each query, from a server without a language model."""
    return anyio.run(_ask, kg, tool, list(queries))


def rows(snapshot: Snapshot, answer: dict[str, Any]) -> list[list[str]]:
    """The full ids of the techniques in an answer, one list per row, the row's own id first."""
    found = [row for part in answer.get("parts", [answer]) for row in part["rows"]]
    return [[technique_id(snapshot, node["id"]) for node in (row, *row.get("relatives", ()))] for row in found]


async def _ask(kg: Path, tool: str, queries: list[str]) -> list[dict[str, Any]]:
    environment = {**os.environ, "XKG_KG": str(kg.resolve()), "XKG_LLM__MODEL": "none"}
    server = StdioServerParameters(command=str(Path(sys.executable).with_name("xkg")), args=["serve"], env=environment)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        answers = []
        for query in queries:
            result = await session.call_tool(tool, {QUERY[tool]: query})
            if result.is_error or result.structured_content is None:
                raise SystemExit(f"{tool} refused {query!r}: {result.content}")
            answers.append(result.structured_content)
        return answers
