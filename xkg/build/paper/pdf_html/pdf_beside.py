"""Parts of a single-column page that stand side by side: text that flows around a float, and two captions in a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xkg.build.paper.pdf_html.pdf_lines import Line

_NARROWEST = 7.0  # points of white between the two
_FEWEST_LINES = 3
_SHORTEST = 20  # characters of a line of running text
_JUSTIFIED = 0.6  # share of a side's lines that end at one place


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of fragments; `beside` where they are one of two sides."""

    rows: tuple[tuple[Line, ...], ...]
    beside: bool


def parts(rows: Sequence[Sequence[Line]]) -> list[Part]:
    """The rows of a page, top to bottom, in reading order: where there are two sides, the left one comes first."""
    out: list[Part] = []
    rest: list[tuple[Line, ...]] = []
    index = 0
    while index < len(rows):
        end, white = _region(rows, index) if len(rows[index]) > 1 else (index, 0.0)
        if end == index:
            rest.append(tuple(rows[index]))
            index += 1
            continue
        while rest and len(rest[-1]) == 1 and (rest[-1][0].x1 <= white or rest[-1][0].x0 >= white):
            index -= 1  # rows above that the white does not cross
            rest.pop()
        sides = _sides(rows[index:end], white)
        if rest:
            out.append(Part(tuple(rest), beside=False))
        out += [Part(side, beside=True) for side in sides]
        rest, index = [], end
    if rest:
        out.append(Part(tuple(rest), beside=False))
    return out


def _region(rows: Sequence[Sequence[Line]], start: int) -> tuple[int, float]:
    """The end of the rows from `start` on that one vertical strip of white divides, and the middle of the strip;
    `start` itself where neither side is running text."""
    row = sorted(rows[start], key=lambda fragment: fragment.x0)
    for before, after in pairwise(row):
        left, right, end = before.x1, after.x0, start
        while end < len(rows) and right - left >= _NARROWEST:
            narrowed = _narrowed(rows[end], left, right)
            if narrowed is None:
                break
            left, right = narrowed
            end += 1
        white = (left + right) / 2
        if end - start >= _FEWEST_LINES and any(_is_running(side) for side in _sides(rows[start:end], white)):
            return end, white
    return start, 0.0


def _narrowed(row: Sequence[Line], left: float, right: float) -> tuple[float, float] | None:
    """What a row leaves of a strip of white; None where it crosses it."""
    for fragment in row:
        if fragment.x0 >= right or fragment.x1 <= left:
            continue
        if fragment.x1 - left <= right - fragment.x0:
            left = fragment.x1
        else:
            right = fragment.x0
    return (left, right) if right - left >= _NARROWEST else None


def _sides(rows: Sequence[Sequence[Line]], white: float) -> list[tuple[tuple[Line, ...], ...]]:
    left = tuple(tuple(f for f in row if f.x1 <= white + 1) for row in rows)
    right = tuple(tuple(f for f in row if f.x1 > white + 1) for row in rows)
    return [tuple(row for row in side if row) for side in (left, right)]


def _is_running(side: Sequence[Sequence[Line]]) -> bool:
    """Whether a side has lines of text that end at one place, as in a paragraph."""
    lines = [row[-1] for row in side if sum(len(f.text) for f in row) >= _SHORTEST]
    if len(lines) < _FEWEST_LINES:
        return False
    ends = [line.x1 for line in lines]
    return max(sum(abs(end - other) < 3 for other in ends) for end in ends) >= _JUSTIFIED * len(side)
