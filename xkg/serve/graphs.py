"""Several graphs behind one server: selects the graph of a call and checks who may read it.

Tools then take an argument `graph`. Resources of graphs other than the first begin with `xkg://NAME/`. A token with
scopes `graph:NAME` reads only these graphs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xkg.errors import InputError
from xkg.serve.graph_address import uri_of_graph
from xkg.serve.service import Service

if TYPE_CHECKING:
    from xkg.config import Settings

GRAPH_SCOPE = "graph:"
_chosen: ContextVar[str | None] = ContextVar("graph", default=None)


def served_folders(settings: "Settings") -> dict[str, Path]:
    """The folders of the graphs that the settings serve, by name, the first one first. Raises `InputError` if two share
    a name, and if one of several graphs is not a folder."""
    folders = (settings.kg, *settings.serve.graphs)
    named = {folder.resolve().name: folder for folder in folders}
    if len(named) < len(folders):
        raise InputError("two of the graphs have one name, that of their folder: rename one")
    if len(folders) > 1 and settings.store.url is not None:
        raise InputError("several graphs are served from folders: store.url names one graph, so give one --kg")
    return named


def open_graphs(settings: "Settings") -> Service:
    """The graph of these settings, or all of them behind one `Service` that answers from the graph of the call."""
    folders = served_folders(settings)
    if len(folders) == 1:
        return Service(settings)
    services: dict[str, Service] = {}
    for name, folder in folders.items():
        first = next(iter(services.values()), None)
        services[name] = Service(settings.model_copy(update={"kg": folder}), models_of=first)
    return cast(Service, Graphs(services))


class Graphs:
    """Acts as the `Service` of the graph of a call: the first graph unless `asking` selects another. Server-wide
    methods apply to all graphs. Raises `NotAllowedError` if the caller's token names other graphs."""

    def __init__(self, services: Mapping[str, Service]) -> None:
        self.services = services
        self.names = tuple(services)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.current(), name)

    def current(self) -> Service:
        name = _chosen.get() or self.names[0]
        require_graph(name)
        return self.services[name]

    def state(self) -> tuple[int, int]:
        return self.services[self.names[0]].state()

    def warm_beside(self, first: Callable[[], None] | None = None) -> None:
        for service in self.services.values():
            service.warm_beside(first)
            first = None

    def close(self) -> None:
        for service in self.services.values():
            service.close()


def graphs_of(service: Service) -> Mapping[str, Service]:
    """The graphs behind a service by name, the first one first. A single graph is named after its folder."""
    return service.services if isinstance(service, Graphs) else {service.folder.resolve().name: service}


@contextmanager
def asking(name: str, first: str) -> Iterator[None]:
    """Selects the graph for calls within the context. Resource addresses name it unless it is the first."""
    token, address = _chosen.set(name), uri_of_graph.set("" if name == first else f"{name}/")
    try:
        yield
    finally:
        _chosen.reset(token)
        uri_of_graph.reset(address)


def require_graph(name: str) -> None:
    """Raises `NotAllowedError` if the caller of the current MCP request has a token that names other graphs."""
    from mcp.server.auth.middleware.auth_context import get_access_token

    token = get_access_token()
    if token is not None and not may_read(token.scopes, [name]):
        from xkg.serve.jobs.authority import NotAllowedError

        raise NotAllowedError(f"this token does not name the graph {name}: ask whoever runs the server for another one")


def may_read(scopes: Collection[str], graphs: Sequence[str]) -> bool:
    """Whether a token with these scopes may read one of these graphs. A token that names no graph may read all."""
    named = [scope for scope in scopes if scope.startswith(GRAPH_SCOPE)]
    return not named or any(f"{GRAPH_SCOPE}{graph}" in named for graph in graphs)
