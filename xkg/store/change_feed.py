"""What a copy of a graph needs to know to follow it: how far the graph is, and what changed since."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from xkg.model import PaperBundle
from xkg.store.graph_store import Decision


class Position(NamedTuple):
    """How far a graph is. `graph` is drawn when a graph is made, so that another one at the same address is told from
    it; `counter` grows with every commit, and is 0 before the first."""

    graph: str
    counter: int


class Changes(NamedTuple):
    """What leads from one position to `to`. `whole` says that these are all papers there are, and that what is not
    among them is gone; else `removed` are ids of papers that are. `bundles` are read as they are asked for, each as it
    is at `to` or later. `decisions` are all that hold, None where they did not change."""

    to: Position
    whole: bool
    bundles: Iterator[PaperBundle]
    removed: frozenset[str]
    decisions: tuple[Decision, ...] | None


class Feed(Protocol):
    """A graph that can be followed. Raises `StoreError` where it cannot be reached."""

    def position(self) -> Position:
        """One round trip: asked before every answer."""
        ...

    def changes(self, since: Position | None) -> Changes:
        """What changed since; all of it for None, for another graph, and for a time from which no tombstones are
        kept."""
        ...
