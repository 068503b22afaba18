"""Calls every MCP tool over real HTTP, with arguments generated from its schema and with invalid ones. Each call must
return an answer or a one-line error."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp_types import Tool

from tests.serve.conftest import embedder, graph  # noqa: F401
from tests.serve.http_server import PING, Running, call, running
from xkg.config import HttpSettings

EXAMPLES = max(20, int(os.environ["XKG_SEARCH"]))
KNOWN = ("title:bread/ovens", "title:bread/ovens#baking/steam", "steam", "MATCH (n) RETURN n.id LIMIT 3")
TEXT = (
    st.sampled_from(KNOWN) | st.text(max_size=60) | st.text(alphabet="()[]{}'\"`\\/*$.:#@- \n\x00\u202e", max_size=60)
)
NUMBER = st.integers() | st.sampled_from((0, -1, 1, 2**31, 2**63, 10**30))
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBER | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def values(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Generates values that mostly follow a schema. Some exceed its bounds."""
    if "$ref" in schema:
        return values(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return st.one_of([values(branch, definitions) for branch in branches])
    match schema.get("type"):
        case "string":
            return TEXT
        case "integer" | "number":
            return st.integers(1, 20) | NUMBER
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            return st.lists(values(schema.get("items", {}), definitions), max_size=4)
        case "object" if "properties" in schema:
            return arguments(schema, definitions)
        case "object":
            return st.dictionaries(TEXT, ANYTHING, max_size=3)
    return ANYTHING


def arguments(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    needed = schema.get("required", ())
    each = {name: values(of, definitions) for name, of in schema.get("properties", {}).items()}
    return st.fixed_dictionaries(
        {name: value for name, value in each.items() if name in needed},
        optional={name: value for name, value in each.items() if name not in needed},
    )


@pytest.fixture(scope="module")
def server(graph: Path) -> Iterator[Running]:  # noqa: F811
    with running(graph, HttpSettings(per_minute=0)) as server:
        yield server


def tools(server: Running) -> list[Tool]:
    async def listed() -> list[Tool]:
        async with Client(server.url) as client:
            return list((await client.list_tools()).tools)

    return asyncio.run(listed())


def test_every_answer_is_an_answer(server: Running) -> None:
    made = {tool.name: arguments(tool.input_schema, tool.input_schema.get("$defs", {})) for tool in tools(server)}
    assert len(made) >= 8
    client = server.client()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(made)))
        given = data.draw(made[name] | st.dictionaries(TEXT, ANYTHING, max_size=3))
        answer = client.post("/mcp", json=call(name, **given))
        assert answer.status_code in (200, 400, 413), answer.text
        result = answer.json().get("result", {})
        if result.get("isError"):
            said = result["content"][0]["text"]
            assert "\n" not in said.strip()
            assert "Traceback" not in said
            assert "fault of the server" not in said

    ask()
    assert client.post("/mcp", json=PING).status_code == 200
