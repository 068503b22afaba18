"""How a copy follows a graph: the graph's position, and the changes since an earlier position."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from xkg.model import PaperBundle
from xkg.store.graph_store import Decision


class Position(NamedTuple):
    """A state of a graph. `graph` is a random name, drawn when a graph is created, so another graph at the same address
    is recognised. `counter` grows with every commit and is 0 before the first."""

    graph: str
    counter: int


class Changes(NamedTuple):
    """The changes that lead to position `to`. If `whole`, `bundles` are all papers of the graph; otherwise `removed`
    are the ids of deleted papers. `bundles` are read lazily, each at `to` or later. `decisions` are all valid
    decisions, None if they did not change."""

    to: Position
    whole: bool
    bundles: Iterator[PaperBundle]
    removed: frozenset[str]
    decisions: tuple[Decision, ...] | None


class Feed(Protocol):
    """A graph that can be followed. Methods raise `StoreError` if it cannot be reached."""

    def position(self) -> Position:
        """One round trip; called before every answer."""

    def changes(self, since: Position | None) -> Changes:
        """The changes since a position. Returns everything for None, for another graph, and if the tombstones since
        then are gone."""
