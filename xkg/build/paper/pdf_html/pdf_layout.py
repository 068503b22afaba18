"""Puts the lines of a printed paper in reading order, separating columns and removing running heads and page
numbers."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from xkg.build.paper.pdf_html.pdf_lines import Line, Page, Run

_SAME = 4.0  # the maximum distance, in points, between a column's left edges on two pages
_SAME_EDGE = 1.5  # the maximum distance, in points, between the left edges of two lines in a paragraph
_PITCH = 1.35  # the maximum distance between two lines in a paragraph, relative to the font size
_WIDEST_INDENT = 26  # points
_COLUMN = 0.25  # the minimum length of a line of text in a column, relative to the page width
_FEWEST_IN_COLUMN = 8  # the minimum number of text lines in a column
_LONGEST_INDEX = 8  # characters
_SHORTEST_LINE = 25  # characters in a line of text with indices
_MARGIN = 0.1  # the height of the top and bottom margins for running heads, relative to the page height
_PAGE_NUMBER = re.compile(r"(?i)(?:page\s++)?[-–—|\s]*+(?:\d{1,4}|[ivxl]{1,6})[-–—|\s]*+(?:(?:of|/)\s*+\d{1,4})?\s*+$")

# Matches a cover sheet added by a website.
_COVER = re.compile(r"See discussions, stats, and author profiles for this publication")


@dataclass(frozen=True, slots=True)
class Placed:
    """A line in reading order. `left` and `right` are the edges of its column, and `number` counts the lines on its
    page from 1."""

    line: Line
    left: float
    right: float
    column: tuple[int, int]
    """The page, and the index of the line's part of the page in reading order. For example, a part may be a column
    between two elements that span both columns."""
    number: int


def reading_order(pages: Sequence[Page]) -> list[Placed]:
    """Returns all lines of running text, floats and headings, in reading order."""
    if len(pages) > 1 and _COVER.search("".join(f.text for f in pages[0].fragments)):
        pages = pages[1:]
    bodies = _without_running_heads(pages)
    gutters = [_gutter(page, fragments) for page, fragments in zip(pages, bodies, strict=True)]
    usual = _usual([gutter for gutter in gutters if gutter is not None])
    often = sum(gutter is not None and abs(gutter - usual) < _SAME for gutter in gutters)
    out: list[Placed] = []
    for page, fragments, gutter in zip(pages, bodies, gutters, strict=True):
        if gutter is None and often and often * 3 >= len(pages) and not _is_one_column(fragments, usual):
            gutter = usual  # the last page may have too few lines to detect its columns
        elif gutter is not None and often * 4 < len(pages) and not _fills_columns(page, fragments, gutter):
            gutter = None  # labels or cells that happen to align on a few pages
        out += _page_order(page, fragments, gutter)
    return out


def _usual(gutters: Sequence[float]) -> float:
    near = {gutter: sum(abs(gutter - other) < _SAME for other in gutters) for gutter in gutters}
    return max(near, key=lambda gutter: (near[gutter], -gutter), default=0.0)


def body_size(lines: Iterable[Line]) -> float:
    """Returns the font size of most of the text."""
    weights: Counter[float] = Counter()
    for line in lines:
        for run in line.runs:
            weights[run.style.size] += len(run.text)
    return max(weights, key=lambda size: (weights[size], size), default=10.0)


# --- running heads ----------------------------------------------------------------------------------------------------


def _without_running_heads(pages: Sequence[Page]) -> list[list[Line]]:
    """Returns the lines on each page, without page numbers and text repeated in the margins."""
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update({_pattern(f) for f in page.fragments if _in_margin(f, page)})
    often = max(2, min(4, len(pages) // 3))
    repeated = {text for text, count in seen.items() if count >= often}
    bodies = []
    for page in pages:
        body = [f for f in page.fragments if not _in_margin(f, page) or _pattern(f) not in repeated]
        body = [f for f in body if not (_in_margin(f, page) and _PAGE_NUMBER.match(f.text.strip()))]
        bodies.append(body)
    return bodies


def _in_margin(line: Line, page: Page) -> bool:
    return line.bottom < _MARGIN * page.height or line.top > (1 - _MARGIN) * page.height


def _pattern(line: Line) -> str:
    return f"{round(line.top / 4)} " + re.sub(r"\d+|\b[ivxl]+\b", "#", line.text.strip())


# --- columns ----------------------------------------------------------------------------------------------------------


def _gutter(page: Page, fragments: Sequence[Line]) -> float | None:
    """Finds the x position of the right-hand column, where many lines start and which few cross. Indented lines are not
    mistaken for a column, because other lines cross their starting position."""
    starts = Counter(round(f.x0) for f in fragments if 0.4 * page.width < f.x0 < 0.65 * page.width)
    candidates = []
    for x, count in starts.items():
        here = sum(starts[x + indent] for indent in range(-1, _WIDEST_INDENT))
        crossing = sum(f.x0 < x - 2 and f.x1 > x + 2 for f in fragments)
        left = sum(f.x1 <= x for f in fragments)
        if count > 1 and here >= 5 and crossing < 0.35 * len(fragments) and left >= 5:
            candidates.append((crossing, -here, float(x)))
    return min(candidates)[2] if candidates else None


def _is_one_column(fragments: Sequence[Line], gutter: float) -> bool:
    """Returns whether more lines cross the gutter than start at it, as on the single-column pages of some
    appendices."""
    crossing = sum(f.x0 < gutter - 2 and f.x1 > gutter + 2 for f in fragments)
    return crossing > sum(gutter - 1 <= f.x0 < gutter + _WIDEST_INDENT for f in fragments)


def _fills_columns(page: Page, fragments: Sequence[Line], gutter: float) -> bool:
    """Returns whether the columns fill a whole page, as in a bibliography after single-column text."""
    left = [f for f in fragments if f.x1 <= gutter + 1]
    right = [f for f in fragments if f.x0 >= gutter - 6]
    across = len(fragments) - len(left) - len(right)
    sides = [[f for f in side if f.x1 - f.x0 > _COLUMN * page.width] for side in (left, right)]
    return across < 0.1 * len(fragments) and all(
        len(long) >= _FEWEST_IN_COLUMN and len(long) > 0.5 * len(side)
        for long, side in zip(sides, (left, right), strict=True)
    )


def _page_order(page: Page, fragments: list[Line], gutter: float | None) -> list[Placed]:
    if gutter is None:
        sides = [(0, _joined(fragments))]
    else:
        left = _joined([f for f in fragments if f.x1 <= gutter + 1])
        right = _joined([f for f in fragments if f.x0 >= gutter - 6])
        in_columns = {id(f) for f in fragments if f.x1 <= gutter + 1 or f.x0 >= gutter - 6}
        across = _joined([f for f in fragments if id(f) not in in_columns])
        sides = _bands(*_with_last_lines(left, right, across))
    edges = _edges([line for _, lines in sides for line in lines], page, gutter)
    out: list[Placed] = []
    for piece, (side, lines) in enumerate(sides):
        for line in lines:
            out.append(Placed(line, *edges[side], (line.page, piece), len(out) + 1))
    return out


def _with_last_lines(
    left: list[Line], right: list[Line], across: list[Line]
) -> tuple[list[Line], list[Line], list[Line]]:
    """Returns the lines in the left column, the lines in the right column, and the lines across both. The short last
    line of a caption that spans both columns is moved there from the left column."""
    whole = list(across)
    for line in left:
        above = max((a for a in whole if a.bottom < line.bottom), key=lambda a: a.bottom, default=None)
        follows = above is not None and line.bottom - above.bottom < _PITCH * line.size and line.size == above.size
        beside = any(min(line.bottom, r.bottom) - max(line.top, r.top) > 0 for r in right)
        if above is not None and follows and not beside and abs(line.x0 - above.x0) < _SAME_EDGE:
            whole.append(line)
    taken = {id(line) for line in whole}
    return [line for line in left if id(line) not in taken], right, sorted(whole, key=lambda line: line.bottom)


def _bands(left: list[Line], right: list[Line], across: list[Line]) -> list[tuple[int, list[Line]]]:
    """Splits the page into bands at the lines that span both columns, with each band's left column first."""
    out: list[tuple[int, list[Line]]] = []
    for index, line in enumerate([*across, None]):
        limit = line.top if line is not None else float("inf")
        for side, lines in ((1, left), (2, right)):
            above = [other for other in lines if (other.top + other.bottom) / 2 < limit]
            del lines[: len(above)]
            if above:
                out.append((side, above))
        if line is not None:
            if index and out and out[-1][0] == 0:
                out[-1][1].append(line)
            else:
                out.append((0, [line]))
    return out


def _edges(lines: Sequence[Line], page: Page, gutter: float | None) -> list[tuple[float, float]]:
    """Returns the left and right edges of lines that span both columns, of the left column and of the right column."""

    def edge(lines: list[Line], default: tuple[float, float]) -> tuple[float, float]:
        long = [f for f in lines if f.x1 - f.x0 > 0.5 * (default[1] - default[0])] or lines
        if not long:
            return default
        lefts, rights = Counter(round(f.x0) for f in long), Counter(round(f.x1) for f in long)
        left_edge = min(x for x, n in lefts.items() if n * 2 >= max(lefts.values()))
        return float(left_edge), float(max(x for x, n in rights.items() if n * 2 >= max(rights.values())))

    whole = (min((f.x0 for f in lines), default=0.0), max((f.x1 for f in lines), default=page.width))
    if gutter is None:
        return [edge(list(lines), whole)]
    left = edge([f for f in lines if f.x1 <= gutter + 1], (whole[0], gutter))
    return [whole, left, edge([f for f in lines if f.x0 >= gutter - 6], (gutter, whole[1]))]


# --- lines ------------------------------------------------------------------------------------------------------------


def _joined(fragments: Iterable[Line]) -> list[Line]:
    """Joins side-by-side fragments into lines, from top to bottom."""
    return [_merged(row) for row in _rows(fragments)]


def _rows(fragments: Iterable[Line]) -> list[list[Line]]:
    """Groups fragments into lines, ordered from top to bottom and from left to right."""
    rows: list[list[Line]] = []
    for fragment in sorted(fragments, key=lambda f: (f.top + f.bottom, f.x0)):
        row = next((r for r in reversed(rows[-4:]) if _same_row(r, fragment)), None)
        if row is None:
            rows.append([fragment])
        else:
            row.append(fragment)
    return [sorted(row, key=lambda f: f.x0) for row in _with_indices(rows)]


def _with_indices(rows: Sequence[list[Line]]) -> list[list[Line]]:
    """Moves stacked indices into the text lines that they belong to."""
    out: list[list[Line]] = []
    waiting: list[Line] = []
    for row, following in pairwise([*rows, []]):
        if len(row) == 1 and out and _is_index(row[0], out[-1]):
            out[-1].append(row[0])
        elif len(row) == 1 and following and _is_index(row[0], following):
            waiting.append(row[0])
        else:
            out.append([*row, *waiting])
            waiting = []
    return out


def _is_index(fragment: Line, row: Sequence[Line]) -> bool:
    main = max(row, key=lambda f: len(f.text))
    shared = min(main.bottom, fragment.bottom) - max(main.top, fragment.top)
    small = fragment.size < 0.85 * main.size and len(fragment.text.strip()) <= _LONGEST_INDEX
    inside = main.x0 < fragment.x0 and fragment.x1 < max(f.x1 for f in row) + fragment.size
    return small and inside and shared > 0.3 * (fragment.bottom - fragment.top) and len(main.text) >= _SHORTEST_LINE


def _same_row(row: Sequence[Line], fragment: Line) -> bool:
    main = max(row, key=lambda f: len(f.text))
    shared = min(main.bottom, fragment.bottom) - max(main.top, fragment.top)
    lower = min(main.bottom - main.top, fragment.bottom - fragment.top)
    return shared > 0.5 * lower and not any(
        min(f.x1, fragment.x1) - max(f.x0, fragment.x0) > 0.5 * min(f.x1 - f.x0, fragment.x1 - fragment.x0) for f in row
    )


def _merged(row: Sequence[Line]) -> Line:
    main = max(row, key=lambda f: len(f.text))
    runs: list[Run] = []
    for before, fragment in zip([None, *row], row, strict=False):
        if before is not None:
            gap = fragment.x0 - before.x1
            space = "  " if gap > 2 * main.size else " " if gap > 0.12 * main.size else ""
            if space and not runs[-1].text.endswith(space):
                runs[-1] = replace(runs[-1], text=runs[-1].text + space)
        runs += fragment.runs
    return replace(main, x0=row[0].x0, x1=max(f.x1 for f in row), runs=tuple(runs))
