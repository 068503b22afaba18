"""Provides the MCP resources `xkg://paper/{id}`, `xkg://technique/{id}`, `xkg://code/{id}`, `xkg://schema` and
`xkg://answers`. All papers are listed."""

import functools
import json
from collections.abc import Callable
from contextlib import suppress

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ListResourcesResult, PaginatedRequestParams, Resource
from pydantic import TypeAdapter

from xkg.errors import InputError, XkgError
from xkg.serve.answer_text import AnyAnswer
from xkg.serve.answers.json import as_json
from xkg.serve.answers.paging import Page
from xkg.serve.answers.quoting import one_line, refusal
from xkg.serve.answers.types import uri
from xkg.serve.graphs import asking, graphs_of, readable_graphs
from xkg.serve.service import Service
from xkg.store.graph_store import PaperLine
from xkg.text.plural import plural
from xkg.value import Value

PAPERS_OF_A_PAGE = 100


def add_resources(server: MCPServer, service: Service) -> None:
    """Registers papers, techniques, code and the schema as JSON resources with all their fields."""
    unchecked = ResourceSecurity(exempt_params=frozenset(["id"]))  # ids are looked up, never used as paths

    graphs = tuple(graphs_of(service))

    def read(ask: Callable[[], Value], graph: str) -> str:
        try:
            with asking(graph, graphs[0]):
                return as_json(ask())
        except XkgError as error:
            raise ResourceNotFoundError(refusal(error)) from error

    def node(ask: Callable[..., Value], graph: str) -> Callable[[str], str]:
        return lambda id: read(lambda: ask(id, full=True), graph)

    kinds: list[tuple[str, Callable[..., Value], str]] = [
        ("paper", service.paper, "A paper with all its fields. The id must be percent-encoded."),
        ("technique", service.technique, "A technique with all its fields. The id must be percent-encoded."),
        ("code", service.code, "Code with its test and evidence. The id must be percent-encoded."),
    ]
    for graph in graphs:
        start, of = ("xkg://", "") if graph == graphs[0] else (f"xkg://{graph}/", f" of {graph}")
        add = functools.partial(server.resource, mime_type="application/json")
        for kind, ask, about in kinds:
            title = f"{kind.capitalize()}{of}"
            address = f"{start}{kind}/{{id}}"
            add(address, name=kind, title=title, description=about, security=unchecked)(node(ask, graph))
        about = "The graph's tables and example queries."
        add(f"{start}schema", name="schema", title=f"Graph schema{of}", description=about)(
            functools.partial(read, service.schema, graph)
        )

    @server.resource("xkg://answers", title="Fields of answers", mime_type="application/json")
    def answers() -> str:
        """The fields of all tools' answers and their meanings, as JSON Schema."""
        return json.dumps(TypeAdapter(AnyAnswer).json_schema(), ensure_ascii=False, separators=(",", ":"))

    async def listed(_: object, asked: PaginatedRequestParams | None) -> ListResourcesResult:
        cursor = asked.cursor if asked is not None else None
        papers, following = await anyio.to_thread.run_sync(_papers, service, cursor)
        return ListResourcesResult(
            resources=[*(() if cursor else await server.list_resources()), *papers], next_cursor=following
        )

    server._lowlevel_server.add_request_handler("resources/list", PaginatedRequestParams, listed)


def _papers(service: Service, cursor: str | None) -> tuple[list[Resource], str | None]:
    """Returns a page of papers from all graphs that the caller may read, and the cursor for the next page. Skips graphs
    that are empty or cannot be opened."""
    first = next(iter(graphs_of(service)))
    papers: list[tuple[str, PaperLine]] = []
    for graph in readable_graphs(service):
        with suppress(XkgError), asking(graph, first), service.snapshot() as snapshot:
            papers += [(uri("paper", line.id), line) for line in snapshot.paper_lines()]
    addresses = [address for address, _ in papers]
    try:
        page = Page(cursor, "resources/list")
        start = page.start(addresses)
    except InputError as error:
        raise MCPError(code=INVALID_PARAMS, message=refusal(error)) from error
    listed = [
        Resource(
            uri=address,
            name=line.id,
            title=one_line(line.title),
            description=f"{plural(line.techniques, 'technique')}, {line.state}",
            mime_type="application/json",
        )
        for address, line in papers[start : start + PAPERS_OF_A_PAGE]
    ]
    return listed, page.more(addresses)(len(listed))
