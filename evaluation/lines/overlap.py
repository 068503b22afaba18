"""Precision and recall in lines. A line is (path, number); the places of one technique are equally right."""

from collections.abc import Iterable, Sequence

Lines = frozenset[tuple[str, int]]


def span(path: str, first: int, last: int) -> Lines:
    """The lines of a span, both ends included."""
    return frozenset((path, line) for line in range(first, last + 1))


def precision(answer: Lines, places: Sequence[Lines]) -> float | None:
    """The share of the answer's lines that are in any of the places; None without an answer."""
    return len(answer & frozenset().union(*places)) / len(answer) if answer else None


def recall(answer: Lines, places: Sequence[Lines]) -> float:
    """The largest share of a place's lines that the answer contains; 0 without places."""
    return max((len(answer & place) / len(place) for place in places if place), default=0.0)


def together(parts: Iterable[Lines]) -> Lines:
    """All lines of several spans."""
    return frozenset().union(*parts)
