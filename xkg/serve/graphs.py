"""Serves several graphs from one server: selects the graph for each call, and checks whether the caller may read it.

If there are several graphs, tools and prompts have a `graph` argument, and the resources of all graphs except the first
begin with `xkg://NAME/`. A token with `graph:NAME` scopes can read only the graphs in its scopes."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from xkg.config import Settings
from xkg.errors import InputError
from xkg.serve.answers.types import uri_of_graph
from xkg.serve.search.query_encoder import SharedModel
from xkg.serve.service import Service

T = TypeVar("T")

GRAPH_SCOPE = "graph:"
_chosen: ContextVar[str | None] = ContextVar("graph", default=None)


def served_folders(settings: Settings) -> dict[str, Path]:
    """Returns the folders of the graphs to serve, in order and keyed by name. Raises `InputError` if two graphs have
    the same name, or if several graphs are requested and `store.url` is set."""
    folders = (settings.kg, *settings.serve.graphs)
    named = {folder.resolve().name: folder for folder in folders}
    if len(named) < len(folders):
        raise InputError("two graphs have the same name, because their folders have the same name; rename one")
    if len(folders) > 1 and settings.store.url is not None:
        raise InputError("only graphs in folders can be served together; store.url is a single graph, so pass one --kg")
    return named


def of_each_graph(settings: Settings, make: Callable[[str, Settings], T]) -> T:
    """Calls `make` with the name and settings of each graph. If there is a single graph, returns the result of this
    call. If there are several graphs, returns an object that delegates each method call to the result for the selected
    graph. Raises the same errors as `served_folders`."""
    folders = served_folders(settings)
    made = {name: make(name, settings.model_copy(update={"kg": folder})) for name, folder in folders.items()}
    return next(iter(made.values())) if len(made) == 1 else cast(T, Graphs(made))


def open_graphs(settings: Settings) -> Service:
    """Opens all graphs in the settings, with a shared embedding model. Raises the same errors as `served_folders`."""
    model = SharedModel(settings.embedding)
    return of_each_graph(settings, lambda _, own: Service(own, model=model))


class Graphs:
    """Delegates to the `Service`, jobs or runs of the graph selected by `asking`. The default is the first graph.
    Server-wide methods apply to all graphs. Raises `NotAllowedError` if the caller's token does not cover the graph."""

    def __init__(self, of: Mapping[str, Any]) -> None:
        self.of = of
        self.first = next(iter(of))

    def __getattr__(self, name: str) -> Any:
        chosen = _chosen.get() or self.first
        require_graph(chosen)
        return getattr(self.of[chosen], name)

    def state(self) -> tuple[int, int]:
        state: tuple[int, int] = self.of[self.first].state()
        return state

    def warm_beside(self, first: Callable[[], None] | None = None) -> None:
        for service in self.of.values():
            service.warm_beside(first)
            first = None

    def start(self) -> None:
        for jobs in self.of.values():
            jobs.start()

    def close(self) -> None:
        for each in self.of.values():
            each.close()


def graphs_of(service: Service) -> Mapping[str, Service]:
    """Returns a service's graphs, in order and keyed by name. A single graph is named after its folder."""
    return service.of if isinstance(service, Graphs) else {service.folder.resolve().name: service}


def of_graph(made: T, graph: str) -> T:
    """Returns the object that `of_each_graph` created for one graph."""
    return made.of[graph] if isinstance(made, Graphs) else made


def readable_graphs(service: Service) -> list[str]:
    """Returns the graphs that the caller of the current MCP request may read."""
    return [name for name in graphs_of(service) if _may_read(name)]


@contextmanager
def asking(name: str, first: str) -> Iterator[None]:
    """Context manager that selects the graph for all calls made inside it. Resource addresses contain the graph's name
    unless the graph is the first one."""
    token, address = _chosen.set(name), uri_of_graph.set("" if name == first else f"{name}/")
    try:
        yield
    finally:
        _chosen.reset(token)
        uri_of_graph.reset(address)


def with_graph(ask: Callable[..., T], graphs: Sequence[str]) -> Callable[..., T]:
    """Adds a `graph` argument to a tool's or prompt's function if there are several graphs. The default is the
    first."""
    if len(graphs) < 2:
        return ask

    @functools.wraps(ask)
    def chosen(*args: Any, graph: str = graphs[0], **kwargs: Any) -> T:
        with asking(graph, graphs[0]):
            return ask(*args, **kwargs)

    taken = inspect.signature(ask)
    kind = Literal[tuple(graphs)]  # type: ignore[valid-type]
    one = inspect.Parameter("graph", inspect.Parameter.KEYWORD_ONLY, default=graphs[0], annotation=kind)
    chosen.__signature__ = taken.replace(parameters=[*taken.parameters.values(), one])  # type: ignore[attr-defined]
    chosen.__annotations__ = {**ask.__annotations__, "graph": kind}
    return chosen


def require_graph(name: str) -> None:
    """Raises `NotAllowedError` if the current MCP request's token does not cover this graph."""
    if not _may_read(name):
        from xkg.serve.jobs.authority import NotAllowedError

        raise NotAllowedError(
            f"this token does not cover the graph {name}; ask the server's operator for another token"
        )


def _may_read(graph: str) -> bool:
    from mcp.server.auth.middleware.auth_context import get_access_token

    token = get_access_token()
    return token is None or may_read(token.scopes, [graph])


def may_read(scopes: Collection[str], graphs: Sequence[str]) -> bool:
    """Returns whether a token with these scopes may read at least one of these graphs. A token without graph scopes may
    read all graphs."""
    named = [scope for scope in scopes if scope.startswith(GRAPH_SCOPE)]
    return not named or any(f"{GRAPH_SCOPE}{graph}" in named for graph in graphs)
