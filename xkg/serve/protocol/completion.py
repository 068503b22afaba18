"""Completes paper, technique and code ids in prompt arguments and resource addresses."""

import re
from collections.abc import Iterator
from itertools import islice

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
from xkg.serve.graphs import asking, graphs_of, readable_graphs
from xkg.serve.service import Service
from xkg.store.graph_store import Snapshot

MOST = 100
"""Maximum number of values in a completion, as defined by the protocol."""
_MOST_PAPERS = 2000
_TEMPLATE = re.compile(r"xkg://(?:([^/]+)/)?(paper|technique|code)/\{id\}")


def add_completion(server: MCPServer, service: Service) -> None:
    """Registers completion. Must be called before `initialize`, which announces completion to clients."""

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        graph, kind = ((context and context.arguments) or {}).get("graph"), argument.name
        if isinstance(ref, ResourceTemplateReference):
            template = _TEMPLATE.fullmatch(ref.uri)
            graph, kind = template.groups() if template else (None, "")
        return await anyio.to_thread.run_sync(_completed, service, graph, kind, argument.value)


def _completed(service: Service, graph: str | None, kind: str, value: str) -> Completion | None:
    """Returns the ids in the graph that start with `value`, ignoring the scheme, or whose last part starts with
    `value`. For the kind `graph`, returns graph names. Returns None for other kinds, or if the graph cannot be read."""
    wanted = value.strip().casefold()
    if kind == "graph":
        return Completion(values=[name for name in readable_graphs(service) if name.casefold().startswith(wanted)])
    first, *others = graphs_of(service)
    if kind not in ("paper", "technique", "code") or graph not in (None, first, *others):
        return None
    try:
        with asking(graph or first, first), service.snapshot() as snapshot:
            found = list(islice((id for id in _ids(snapshot, kind, wanted) if _begins(id, wanted)), MOST + 1))
    except XkgError:
        return None
    return Completion(values=found[:MOST], total=len(found) if len(found) <= MOST else None, has_more=len(found) > MOST)


def _ids(snapshot: Snapshot, kind: str, wanted: str) -> Iterator[str]:
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
