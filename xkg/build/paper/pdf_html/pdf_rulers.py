"""Finds the line numbers printed next to a draft's text. The numbers are often so close to the text that they look like
words."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

_FEWEST = 20  # the minimum count of numbers in a column
_SAME = 1.5  # the maximum distance, in points, between the edges of two numbers in a column
_CONSECUTIVE = 0.8  # the minimum fraction of a column's numbers that follow the number above


class PrintedNumber(NamedTuple):
    """A printed number with space around it. Contains its value, its left and right edges in points, and its height on
    the page."""

    value: int
    x0: float
    x1: float
    middle: float


def ruler_numbers(numbers: Sequence[PrintedNumber]) -> frozenset[int]:
    """Returns the indices of the line numbers: those that are stacked, aligned and consecutive."""
    found: set[int] = set()
    for edge in ("x0", "x1"):
        for aligned in _aligned(numbers, edge):
            downward = sorted(aligned, key=lambda index: numbers[index].middle)
            steps = [numbers[b].value - numbers[a].value for a, b in pairwise(downward)]
            if len(aligned) >= _FEWEST and steps.count(1) >= _CONSECUTIVE * len(steps):
                found.update(aligned)
    return frozenset(found)


def _aligned(numbers: Sequence[PrintedNumber], edge: str) -> Iterator[list[int]]:
    """Yields groups of indices. The numbers in a group have nearly equal left or right edges."""
    group: list[int] = []
    for index in sorted(range(len(numbers)), key=lambda index: float(getattr(numbers[index], edge))):
        if group and getattr(numbers[index], edge) - getattr(numbers[group[-1]], edge) > _SAME:
            yield group
            group = []
        group.append(index)
    yield group
