"""What an argument of a prompt or a resource's address can be: ids, by the beginning or a part of an id or a name."""

from typing import Any

import anyio.to_thread
from mcp.server import MCPServer
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from xkg.errors import XkgError
from xkg.serve.service import Service

MOST = 100
"""No completion may have more (MCP 2025-06-18, completion)."""

MOST_CHARACTERS = 200

# What begins so comes first, then what has it somewhere; stubs are cited and not built.
_PAPERS = """\
MATCH (p:Paper)
WHERE p.state <> 'stub' AND ($part = '' OR toLower(p.id) CONTAINS $part OR toLower(p.title) CONTAINS $part)
RETURN p.id AS id
ORDER BY CASE WHEN toLower(p.id) STARTS WITH $part OR toLower(p.title) STARTS WITH $part THEN 0 ELSE 1 END, id
LIMIT 101"""
_TECHNIQUES = """\
MATCH (t:Technique)
WHERE t.id STARTS WITH $paper AND ($part = '' OR toLower(t.id) CONTAINS $part OR toLower(t.name) CONTAINS $part)
RETURN t.id AS id
ORDER BY CASE WHEN toLower(t.id) STARTS WITH $part OR toLower(t.name) STARTS WITH $part THEN 0 ELSE 1 END, id
LIMIT 101"""
_WITH_CODE = _TECHNIQUES.replace("(t:Technique)", "(t:Technique)-[:IMPLEMENTED_BY]->(:Code)")

_OF_TEMPLATES = {"xkg://paper/{id}": _PAPERS, "xkg://technique/{id}": _TECHNIQUES, "xkg://code/{id}": _WITH_CODE}
_OF_ARGUMENTS = {"paper": _PAPERS, "technique": _TECHNIQUES}


def add_completions(server: MCPServer, service: Service) -> None:
    """Answers `completion/complete` for the addresses of `resources` and the arguments of `prompts`."""

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        statement = (
            _OF_TEMPLATES.get(ref.uri)
            if isinstance(ref, ResourceTemplateReference)
            else _OF_ARGUMENTS.get(argument.name)
        )
        if statement is None:
            return None
        given = (context.arguments if context is not None else None) or {}
        return await anyio.to_thread.run_sync(_completed, service, statement, argument.value, given.get("paper", ""))


def _completed(service: Service, statement: str, value: str, paper: str) -> Completion:
    parameters: dict[str, Any] = {"part": " ".join(value[:MOST_CHARACTERS].split()).lower()}
    if "$paper" in statement:
        parameters["paper"] = f"{paper}#" if ":" in paper else ""
    try:
        found = [str(row[0]) for row in service.cypher(statement, parameters, MOST + 1).rows]
    except XkgError:  # an empty graph, or one that is busy: there is nothing to propose
        return Completion(values=[], total=0, has_more=False)
    more = len(found) > MOST
    return Completion(values=found[:MOST], total=None if more else len(found), has_more=more)
