"""MCP resources: `xkg://paper/{id}`, `xkg://technique/{id}`, `xkg://code/{id}`, `xkg://schema`, `xkg://answers`."""

import json
from collections.abc import Callable

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from pydantic import TypeAdapter

from xkg.errors import XkgError
from xkg.serve.answer_text import AnyAnswer
from xkg.serve.answers.json import as_json
from xkg.serve.service import Service
from xkg.serve.tool_errors import refusal
from xkg.value import Value


def add_resources(server: MCPServer, service: Service) -> None:
    """Papers, techniques, code and the schema by address, as JSON with all their facts."""
    unchecked = ResourceSecurity(exempt_params=frozenset(["id"]))  # ids are looked up, never used as paths

    def read(ask: Callable[[], Value]) -> str:
        try:
            return as_json(ask())
        except XkgError as error:
            raise ResourceNotFoundError(refusal(error)) from error

    @server.resource("xkg://paper/{id}", title="Paper", mime_type="application/json", security=unchecked)
    def paper(id: str) -> str:
        """A paper with all its facts; the id percent-encoded."""
        return read(lambda: service.paper(id, full=True))

    @server.resource("xkg://technique/{id}", title="Technique", mime_type="application/json", security=unchecked)
    def technique(id: str) -> str:
        """A technique with all its facts; the id percent-encoded."""
        return read(lambda: service.technique(id, full=True))

    @server.resource("xkg://code/{id}", title="Code", mime_type="application/json", security=unchecked)
    def code(id: str) -> str:
        """Code with its test and evidence; the id percent-encoded."""
        return read(lambda: service.code(id, full=True))

    @server.resource("xkg://answers", title="Fields of answers", mime_type="application/json")
    def answers() -> str:
        """The fields of every tool's answer and what they mean, as JSON Schema."""
        return json.dumps(TypeAdapter(AnyAnswer).json_schema(), ensure_ascii=False, separators=(",", ":"))

    @server.resource("xkg://schema", title="Graph schema", mime_type="application/json")
    def schema() -> str:
        """The graph's tables and example queries."""
        return read(service.schema)
