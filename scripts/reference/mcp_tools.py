"""Generates the reference of MCP tools, prompts and resources as a client sees them."""

import inspect
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from mcp.client import Client
from mcp.server import MCPServer

from scripts.reference.markdown import page, table
from xkg.config import Settings
from xkg.serve.jobs.table import Kind
from xkg.serve.protocol.mcp_server import add_all
from xkg.serve.running.callers_runs import CallersRuns
from xkg.serve.served import Served
from xkg.serve.service import Service


class _EveryKind:
    """A stand-in for the jobs of a server that allows every kind of job."""

    kinds = get_args(Kind)


async def mcp() -> str:
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Settings(kg=Path(folder)))
        server = MCPServer("xkg")
        runs = CallersRuns(service, Settings(kg=Path(folder)))
        add_all(server, Served(service, jobs=_EveryKind(), runs=runs))  # type: ignore[arg-type]
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            prompts = (await client.list_prompts()).prompts
            templates = (await client.list_resource_templates()).resource_templates
            resources = (await client.list_resources()).resources
        service.close()
    intro = (
        "`xkg serve` provides these tools, prompts and resources. `build`, `questions`, `answer`, "
        "`implement`, `job_status` and `cancel_job` appear only if you "
        "[allow builds](../howto/models.md#let-agents-have-papers-built), `run_code` only if you "
        "[allow scripts](../howto/run.md#let-agents-try-code). For the fields in answers, see [JSON](json.md)."
    )
    listed = [
        table(
            ("prompt", "arguments", "description"),
            ((f"`{p.name}`", _arguments(p.arguments), p.description or "") for p in prompts),
        ),
        table(
            ("resource", "contents"),
            [
                *((f"`{each.uri_template}`", each.description or "") for each in templates),
                *((f"`{each.uri}`", each.description or "") for each in resources),
            ],
        ),
    ]
    return page(
        "MCP tools, prompts and resources",
        "what the server lists",
        [intro, "## Tools", *map(_tool, tools), "## Prompts", listed[0], "## Resources", listed[1]],
    )


def _arguments(arguments: Any) -> str:
    return ", ".join(f"`{a.name}`" + ("" if a.required else " (optional)") for a in arguments or ())


def _tool(tool: Any) -> str:
    schema = tool.input_schema
    rows = (
        (
            f"`{name}`",
            _json_type(given, schema.get("$defs", {})),
            "required" if name in schema.get("required", ()) else _plain_json(given.get("default")),
            given.get("description", ""),
        )
        for name, given in schema.get("properties", {}).items()
    )
    hints = tool.annotations
    answer = tool.output_schema["title"]
    kind = "Read-only" if hints.read_only_hint else "Not read-only"
    says = f"{kind}. Returns [{answer}](json.md#{answer.lower()})."
    return "\n\n".join(
        [
            f"### {tool.name}",
            inspect.cleandoc(tool.description or ""),
            table(("argument", "type", "default", "description"), rows),
            says,
        ]
    )


def _json_type(schema: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return _json_type(named[schema["$ref"].rpartition("/")[2]], named)
    if "anyOf" in schema:
        return " or ".join(_json_type(each, named) for each in schema["anyOf"] if each.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "items" in schema:
        return f"list of {_json_type(schema['items'], named)}"
    return str(schema.get("type", "any"))


def _plain_json(value: Any) -> str:
    return "" if value in (None, [], {}, "") else f"`{value}`"
