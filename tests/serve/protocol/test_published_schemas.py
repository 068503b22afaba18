"""Checks that the schemas and instructions that clients read first are short and complete."""

import json
from typing import Any

from jsonschema import Draft202012Validator
from mcp import Client
from mcp.server import MCPServer

from xkg.serve.protocol.mcp_server import add_all
from xkg.serve.protocol.stdio import make_server
from xkg.serve.served import Served
from xkg.serve.service import Service

MOST_BYTES = 25_000


def names(schema: Any) -> set[str]:
    """Returns the field names of nested models, too."""
    if isinstance(schema, dict):
        own = set(schema.get("properties", {}))
        return own.union(*(names(value) for value in schema.values()))
    return set().union(*map(names, schema)) if isinstance(schema, list) else set()


async def test_the_list_of_tools_is_short_and_has_every_field(service: Service) -> None:
    whole_server: MCPServer = MCPServer("whole")
    add_all(whole_server, Served(service))
    whole = {tool.name: tool for tool in await whole_server.list_tools()}
    async with Client(make_server(Served(service))) as client:
        listed = await client.list_tools()
    shown = listed.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta"})
    written = json.dumps(shown, separators=(",", ":"))
    assert len(written.encode()) <= MOST_BYTES
    everywhere = set().union(*(names(tool.output_schema) for tool in listed.tools))
    for tool in listed.tools:
        original = whole[tool.name]
        assert set(tool.input_schema["properties"]) == set(original.input_schema["properties"])
        assert tool.input_schema.get("required") == original.input_schema.get("required")
        assert all(given.get("description") for given in tool.input_schema["properties"].values())
        assert tool.output_schema is not None
        assert original.output_schema is not None
        assert set(tool.output_schema["properties"]) == set(original.output_schema["properties"])
        assert names(original.output_schema) <= everywhere
        assert " ".join((tool.description or "").split()) == " ".join((original.description or "").split())
        for schema in (tool.input_schema, tool.output_schema):
            Draft202012Validator.check_schema(schema)
            assert "$ref" not in json.dumps(schema) or "$defs" in schema


async def test_every_answer_fits_its_schema_and_says_what_its_fields_mean(service: Service) -> None:
    async with Client(make_server(Served(service))) as client:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        for tool, arguments in (
            ("list_papers", {}),
            ("search_techniques", {"query": "steam"}),
            ("get_paper", {"paper": "title:bread/ovens", "include_code": True, "detail": "full"}),
            ("get_technique", {"id": "steam injection", "detail": "full"}),
            ("get_code", {"id": "steam injection", "detail": "full"}),
            ("related_papers", {"paper": "title:bread/ovens"}),
            ("cypher", {"query": "MATCH (t:Technique) RETURN t.name, t.depth"}),
        ):
            answer = (await client.call_tool(tool, arguments)).structured_content
            Draft202012Validator(schemas[tool] or {}).validate(answer)
        fields = str((await client.read_resource("xkg://answers")).contents[0].text)  # type: ignore[union-attr]
        assert "fraction that made the test fail" in fields
        assert {name for schema in schemas.values() for name in names(schema)} <= names(json.loads(fields))
