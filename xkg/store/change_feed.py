"""Lets a copy follow a graph, using the graph's current position and the changes since an earlier one."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from xkg.model import PaperBundle
from xkg.store.graph_store import Decision


class Position(NamedTuple):
    """A state of a graph. `graph` is a random name chosen when the graph is created, which reveals whether a different
    graph is now at the same address. `counter` grows with every commit and is 0 before the first."""

    graph: str
    counter: int


class Changes(NamedTuple):
    """The changes that lead to position `to`. If `whole`, `bundles` contains every paper in the graph; otherwise
    `removed` lists the ids of deleted papers. `bundles` is read lazily, and each bundle reflects `to` or a later state.
    `decisions` contains all valid decisions, or is None if they did not change."""

    to: Position
    whole: bool
    bundles: Iterator[PaperBundle]
    removed: frozenset[str]
    decisions: tuple[Decision, ...] | None


class Feed(Protocol):
    """A graph that can be followed. Methods raise `StoreError` if the graph cannot be reached."""

    def position(self) -> Position:
        """The graph's current position. Takes one round trip and is called before every answer."""

    def changes(self, since: Position | None) -> Changes:
        """The changes since a position. Returns everything if `since` is None or belongs to another graph, or if the
        tombstones since then are gone."""
