"""Completes ids of papers, techniques and code for clients, in prompt arguments and resource addresses."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from xkg.store.graph_store import Snapshot

MOST = 100
"""The protocol's maximum number of values in one completion."""
_MOST_PAPERS = 2000
_TEMPLATES = {"xkg://paper/{id}": "paper", "xkg://technique/{id}": "technique", "xkg://code/{id}": "code"}


def add_completion(server: MCPServer, service: Service) -> None:
    """Registers the completion. Call this before `initialize`, whose answer announces it."""

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        _context: CompletionContext | None,
    ) -> Completion | None:
        kind = argument.name if isinstance(ref, PromptReference) else _TEMPLATES.get(ref.uri, "")
        return await anyio.to_thread.run_sync(_completed, service, kind, argument.value)


def _completed(service: Service, kind: str, value: str) -> Completion | None:
    """The ids that start with `value`, with or without their scheme, or whose last part does. None for other kinds, and
    if the graph cannot be read."""
    if kind not in _TEMPLATES.values():
        return None
    wanted = value.strip().casefold()
    try:
        with service.snapshot() as snapshot:
            found = list(islice((id for id in _ids(snapshot, kind, wanted) if _begins(id, wanted)), MOST + 1))
    except XkgError:
        return None
    return Completion(values=found[:MOST], total=len(found) if len(found) <= MOST else None, has_more=len(found) > MOST)


def _ids(snapshot: "Snapshot", kind: str, wanted: str) -> Iterator[str]:
    papers = snapshot.paper_ids()
    if kind == "paper":
        yield from papers
        return
    owner = wanted.partition("#")[0] if "#" in wanted else ""
    for paper in [each for each in papers if _begins(each, owner)][:_MOST_PAPERS]:
        if kind == "technique":
            yield from snapshot.technique_ids(paper)
        else:
            shown = set(snapshot.technique_ids(paper))
            yield from (code.id for code in snapshot.bundle(paper).code if code.technique in shown)


def _begins(id: str, wanted: str) -> bool:
    known = id.casefold()
    ends = (known, known.partition(":")[2], known.rpartition("/")[2], known.partition("#")[2])
    return any(end.startswith(wanted) for end in ends)
