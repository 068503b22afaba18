"""Shortens the tool schemas that clients receive. All fields and types are kept, but repetitions that pydantic adds are
removed.

Clients read all schemas before the first question, and many add all schemas to the model's context. Tool descriptions
explain the main fields in answers. The resource `xkg://answers` explains all fields."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_types import Tool, ToolAnnotations

Schema = dict[str, Any]
_PLAIN = frozenset(("string", "integer", "number", "boolean", "array", "object"))


def published(tools: Sequence[Tool]) -> list[Tool]:
    """Returns the tools with short schemas. Optional arguments do not list null as a type. Types shared by several
    answers are defined in one tool's schema and referred to by name in all others."""
    homes = {str((tool.output_schema or {}).get("title")): tool.name for tool in tools}
    return [
        tool.model_copy(
            update={
                "description": _flowing(tool.description or ""),
                "input_schema": _short(tool.input_schema, tool.name, {}, described=True),
                "output_schema": tool.output_schema and _short(tool.output_schema, tool.name, homes, described=False),
                "annotations": tool.annotations and _annotations(tool.annotations),
            }
        )
        for tool in tools
    ]


def _annotations(of: ToolAnnotations) -> ToolAnnotations:
    """Omits hints that are meaningless for read-only tools."""
    if not of.read_only_hint:
        return of.model_copy(update={"title": None})
    return ToolAnnotations(read_only_hint=True, open_world_hint=of.open_world_hint)


def _short(whole: Mapping[str, Any], tool: str, homes: dict[str, str], *, described: bool) -> Schema:
    """Removes titles (which repeat names), `additionalProperties` and, unless `described` is set, descriptions. Inlines
    definitions, except those of objects already listed in `homes`. Only required fields may be null, because answers
    and clients omit empty optional values."""
    definitions = whole.get("$defs", {})

    def defined(name: str) -> Schema:
        if "properties" in definitions[name]:
            if name in homes:
                return {"type": "object", "description": f"as in {homes[name]}"}
            homes[name] = tool
        return short(definitions[name])

    def short(schema: Mapping[str, Any], nullable: bool = True) -> Schema:
        found: Schema = {}
        for key, value in schema.items():
            match key:
                case "$ref":
                    found = defined(value.rpartition("/")[2]) | found
                case "description" if described:
                    found[key] = " ".join(value.split())
                case "title" | "description" | "$defs":
                    pass
                case "additionalProperties" if isinstance(value, bool):
                    pass
                case "default" if not described or value in (None, "", [], {}):
                    pass
                case "properties":
                    required = schema.get("required", ())
                    found[key] = {name: short(each, name in required) for name, each in value.items()}
                case "items" | "additionalProperties":
                    found[key] = short(value)
                case "anyOf":
                    found |= _either([short(each) for each in value], nullable)
                case _:
                    found[key] = value
        return found

    return short(whole, nullable=False)


def _either(choices: Sequence[Schema], nullable: bool) -> Schema:
    kinds = [each for each in choices if each.get("type") != "null"]
    if len(kinds) == 1 and len(choices) > 1:
        if not nullable:
            return kinds[0]
        if kinds[0].get("type") in _PLAIN and "enum" not in kinds[0]:
            return {**kinds[0], "type": [kinds[0]["type"], "null"]}
    return {"anyOf": list(choices)}


def _flowing(text: str) -> str:
    return "\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
