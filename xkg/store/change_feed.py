"""Keeps a copy of a graph up to date, using the graph's position and the changes since an earlier position."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from xkg.model import PaperBundle
from xkg.store.graph_store import Decision


class Position(NamedTuple):
    """A state of a graph. `graph` is a random name assigned when the graph was created, so that a different graph at
    the same address can be detected. `counter` is incremented by every commit and starts at 0."""

    graph: str
    counter: int


class Changes(NamedTuple):
    """The changes up to position `to`. If `whole` is set, `bundles` contains every paper in the graph. Otherwise,
    `bundles` contains the changed papers, and `removed` contains the ids of deleted papers. `bundles` is read lazily,
    and each bundle has its content as of `to` or later. `decisions` contains all valid decisions, or is None if they
    have not changed."""

    to: Position
    whole: bool
    bundles: Iterator[PaperBundle]
    removed: frozenset[str]
    decisions: tuple[Decision, ...] | None


class Feed(Protocol):
    """A graph whose changes since a given position can be read. Methods raise `StoreError` if the graph cannot be
    reached."""

    def position(self) -> Position:
        """Returns the graph's current position. Takes only one round trip, because this method is called before every
        answer."""

    def changes(self, since: Position | None) -> Changes:
        """Returns the changes since a position. Returns the whole graph if `since` is None, belongs to a different
        graph, or is older than deleted tombstones."""
