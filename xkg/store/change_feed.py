"""How a copy follows a graph: the graph's position, and the changes since an earlier one."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from xkg.model import PaperBundle
from xkg.store.graph_store import Decision


class Position(NamedTuple):
    """A state of a graph. `graph` is drawn at random when a graph is made, so another graph at the same address is
    recognised; `counter` grows with every commit, and is 0 before the first."""

    graph: str
    counter: int


class Changes(NamedTuple):
    """What leads from one position to `to`. With `whole`, `bundles` are all papers, and all others are gone; else
    `removed` are the ids of papers that are gone. `bundles` are read lazily, each as it is at `to` or later.
    `decisions` are all that hold, None if they did not change."""

    to: Position
    whole: bool
    bundles: Iterator[PaperBundle]
    removed: frozenset[str]
    decisions: tuple[Decision, ...] | None


class Feed(Protocol):
    """A graph that can be followed. Raises `StoreError` where it cannot be reached."""

    def position(self) -> Position:
        """One round trip: called before every answer."""
        ...

    def changes(self, since: Position | None) -> Changes:
        """The changes since a position; everything for None, for another graph, and for a time from which no tombstones
        are left."""
        ...
