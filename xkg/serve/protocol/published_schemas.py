"""Shortens the tool schemas that clients receive. All fields and types are kept, but pydantic's repetitions are
removed.

Clients read all schemas before the first question, and many add all schemas to the model's context. Tool descriptions
explain the main fields in answers. The resource `xkg://answers` explains all fields."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_types import Tool, ToolAnnotations

Schema = dict[str, Any]
_PLAIN = frozenset(("string", "integer", "number", "boolean", "array", "object"))
_REF = "#/$defs/"
_WORTH = 100
"""Minimum length of a definition to be replaced by a reference to the tool that contains it."""


def published(tools: Sequence[Tool]) -> list[Tool]:
    """Returns the tools with short schemas. Optional arguments do not list null as a type. Types that are shared by
    several answers are defined in one schema and referenced in all other schemas."""
    homes = {str((tool.output_schema or {}).get("title")): tool.name for tool in tools}
    answers: dict[str, Schema] = {}
    for tool in tools:
        answers[tool.name] = schema = _short(tool.output_schema or {}, nullable=False, described=False)
        _refer(schema, tool.name, homes)
    return [
        tool.model_copy(
            update={
                "description": _flowing(tool.description or ""),
                "input_schema": _inlined(_short(tool.input_schema, nullable=False, described=True)),
                "output_schema": _inlined(answers[tool.name]) or None,
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


def _short(schema: Mapping[str, Any], *, nullable: bool, described: bool) -> Schema:
    """Removes titles (which repeat names), `additionalProperties` and, unless `described` is set, descriptions. Only
    required fields may be null, because answers and clients omit empty optional values."""

    def inside(value: Mapping[str, Any], nullable: bool = True) -> Schema:
        return _short(value, nullable=nullable, described=described)

    short: Schema = {}
    for key, value in schema.items():
        match key:
            case "title":
                pass
            case "additionalProperties" if isinstance(value, bool):
                pass
            case "default" if not described or value in (None, "", [], {}):
                pass
            case "description":
                if described:
                    short[key] = " ".join(value.split())
            case "properties":
                required = schema.get("required", ())
                short[key] = {name: inside(each, name in required) for name, each in value.items()}
            case "$defs":
                short[key] = {name: inside(each) for name, each in value.items()}
            case "items" | "additionalProperties":
                short[key] = inside(value)
            case "anyOf":
                short |= _either([inside(each) for each in value], nullable)
            case _:
                short[key] = value
    return short


def _either(choices: Sequence[Schema], nullable: bool) -> Schema:
    kinds = [each for each in choices if each.get("type") != "null"]
    if len(kinds) == 1 and len(choices) > 1:
        if not nullable:
            return kinds[0]
        if kinds[0].get("type") in _PLAIN and "enum" not in kinds[0]:
            return {**kinds[0], "type": [kinds[0]["type"], "null"]}
    return {"anyOf": list(choices)}


def _refer(schema: Schema, tool: str, homes: dict[str, str]) -> None:
    """Replaces types defined by a different tool with references, and removes types that are no longer used. Records
    that this tool defines the remaining types."""
    definitions: Schema = schema.get("$defs", {})
    for name, definition in definitions.items():
        home = homes.get(name, tool)
        if home != tool and len(str(definition)) > _WORTH:
            definitions[name] = {"type": definition.get("type", "object"), "description": f"as in {home}"}
    needed: set[str] = set()
    waiting = [{key: value for key, value in schema.items() if key != "$defs"}]
    while waiting:
        found = set(_references(waiting.pop())) - needed
        needed |= found
        waiting += [definitions[name] for name in found]
    if definitions:
        schema["$defs"] = {name: each for name, each in definitions.items() if name in needed}
        homes.update({name: tool for name in needed if name not in homes})


def _references(value: Any) -> Iterator[str]:
    match value:
        case {"$ref": str(to)}:
            yield to.removeprefix(_REF)
        case dict():
            for each in value.values():
                yield from _references(each)
        case list():
            for each in value:
                yield from _references(each)


def _inlined(schema: Schema) -> Schema:
    """Inlines definitions that are used only once or have no properties."""
    definitions: Schema = schema.get("$defs", {})
    uses = Counter(_references(schema))
    inline = {name: each for name, each in definitions.items() if uses[name] == 1 or "properties" not in each}

    def put(value: Any) -> Any:
        match value:
            case {"$ref": str(to)} if to.removeprefix(_REF) in inline:
                beside = {key: each for key, each in value.items() if key != "$ref"}
                return {**put(inline[to.removeprefix(_REF)]), **beside}
            case dict():
                return {key: put(each) for key, each in value.items()}
            case list():
                return [put(each) for each in value]
            case _:
                return value

    result: Schema = put({key: value for key, value in schema.items() if key != "$defs"})
    left = {name: put(each) for name, each in definitions.items() if name not in inline}
    return {**result, "$defs": left} if left else result


def _flowing(text: str) -> str:
    return "\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
