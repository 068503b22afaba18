"""Splits the lines of a printed bibliography into entries.

An entry starts with a number, a label, a hanging indent, an indented first line or a gap. Without labels, uses the
style with the most plausible starts: those that follow a complete entry and begin with a letter."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from xkg.build.paper.pdf_html.pdf_layout import Placed

_LABEL = re.compile(r"\[(?:(\d{1,3})|[^\]]{1,12})\]\s?|\(?(\d{1,3})[.)]\s")
# Matches the end of an entry, but not initials at the end of a line.
_END = re.compile(r"(?:(?<![^\w][A-Z])\.|[)\d/]|https?:\S{1,200}|www\.\S{1,200})\s*$")
_BEGINNING = re.compile(r"(?!In\s)[\W\d_]{0,3}[^\W\d_]")
_BRACKETED = re.compile(r"\[(\d{1,3})\]\s")
_FEWEST_LABELS = 4
_DATED = re.compile(r"(?:1[89]|20)\d\d|arXiv|https?:|www\.|(?i:\b(?:in press|to appear|forthcoming|preprint)\b)")
_MOST = 0.8  # the minimum fraction of entries that contain a year
_FEWEST_AFTER = 2  # if more than this many final entries have no year, they are other text
_FEWEST_WORDS = 4
_FEWEST_LETTERS = 0.55  # the minimum fraction of letters in an entry without a year
_SURE = 0.9  # the fraction of plausible entry starts above which the style with the most starts is used
_LONGEST = 12  # the maximum number of lines per entry, on average


def entries(lines: Sequence[Placed]) -> tuple[list[tuple[Placed, ...]], list[Placed]]:
    """Returns the entries in reading order, and the lines of text after the last entry. A lone heading or label is not
    an entry."""
    if not lines:
        return [], []
    found: list[list[Placed]] = []
    for start, placed in zip(_starts(lines), lines, strict=True):
        if start or not found:
            found.append([])
        found[-1].append(placed)
    after: list[Placed] = []
    if len(found) > _FEWEST_LABELS and _counts_from_one(lines):
        longest = max(map(len, found[:-1]))
        found[-1], after = found[-1][:longest], found[-1][longest:]
    texts = [" ".join(placed.line.text for placed in entry) for entry in found]
    end = _end([_DATED.search(text) is not None or _LABEL.match(text) is not None for text in texts])
    after = [placed for entry in found[end:] for placed in entry] + after
    return [tuple(entry) for entry, text in zip(found[:end], texts[:end], strict=True) if _is_entry(text)], after


def _end(dated: Sequence[bool]) -> int:
    """Returns the number of entries before other text begins. Nearly all entries contain a year, unlike other text."""
    ends, so_far = [], 0
    for index, has_date in enumerate(dated):
        so_far += has_date
        if has_date and so_far >= _MOST * (index + 1):
            ends.append(index + 1)
    return ends[-1] if ends and len(dated) - ends[-1] > _FEWEST_AFTER else len(dated)


def _is_entry(text: str) -> bool:
    words = re.findall(r"[^\W\d_]+", text)
    if _DATED.search(text) is None and sum(map(len, words)) < _FEWEST_LETTERS * len(text.replace(" ", "")):
        return False  # a table row
    return not (text.isupper() and "." not in text) and (len(words) >= _FEWEST_WORDS or "." in text.strip(" ."))


def _starts(lines: Sequence[Placed]) -> list[bool]:
    labelled = _labelled(lines)
    if sum(labelled) * 8 >= len(lines) or _counts_from_one(lines):
        return labelled
    inset = _inset(lines)
    some = sum(inset) * 10 > len(inset)
    ways = [[not i for i in inset], list(inset)] if some else []
    ways.append([False, *_gaps(lines)])
    return max(ways, key=lambda starts: (round(min(_plausible(starts, lines), _SURE), 1), sum(starts)))


def _counts_from_one(lines: Sequence[Placed]) -> bool:
    """Returns whether the entries are numbered "[1]", "[2]" and so on. Text without labels may follow the entries."""
    numbers = [int(match[1]) for placed in lines if (match := _BRACKETED.match(placed.line.text))]
    return (
        numbers[:_FEWEST_LABELS] == list(range(1, _FEWEST_LABELS + 1))
        and _BRACKETED.match(lines[0].line.text) is not None
    )


def _labelled(lines: Sequence[Placed]) -> list[bool]:
    """Returns whether each line begins with a label or with the next consecutive number."""
    out: list[bool] = []
    last = 0
    for placed in lines:
        match = _LABEL.match(placed.line.text)
        digits = (match[1] or match[2]) if match else None
        number = int(digits) if digits else None
        begins = match is not None and (number is None or not out or 0 < number - last <= 3)
        last = number if begins and number is not None else last
        out.append(begins)
    return out


def _inset(lines: Sequence[Placed]) -> list[bool]:
    """Returns whether each line starts to the right of its column's left edge."""
    lefts: dict[tuple[int, float], Counter[int]] = {}
    for placed in lines:
        lefts.setdefault(_side(placed), Counter())[round(placed.line.x0)] += 1
    edges = {side: min([x for x, n in xs.items() if n > 1 or xs.total() < 12] or xs) for side, xs in lefts.items()}
    return [placed.line.x0 - edges[_side(placed)] > 0.5 * placed.line.size for placed in lines]


def _side(placed: Placed) -> tuple[int, float]:
    return placed.line.page, placed.left


def _plausible(starts: Sequence[bool], lines: Sequence[Placed]) -> float:
    """Returns the fraction of entry starts that are plausible: they look like a start and follow a complete entry."""
    at = [index for index, start in enumerate(starts) if start and index]
    if len(lines) > _LONGEST * (len(at) + 1):
        return 0.0
    good = [
        _END.search(lines[index - 1].line.text) is not None and _BEGINNING.match(lines[index].line.text) is not None
        for index in at
    ]
    return sum(good) / len(good) if good else 0.0


def _gaps(lines: Sequence[Placed]) -> list[bool]:
    """For each line after the first, returns whether it follows a gap or the short last line of an entry."""
    pairs = list(pairwise(lines))
    usual = Counter(round(b.line.bottom - a.line.bottom) for a, b in pairs if a.column == b.column).most_common(1)
    wide = usual[0][0] + 1.5 if usual else float("inf")

    def ends(a: Placed, b: Placed) -> bool:
        if _END.search(a.line.text) is None:
            return False
        if a.column != b.column:  # a gap above a column's first line is invisible
            begins = b.line.text[:1].isupper() and _BEGINNING.match(b.line.text) is not None
            return begins or a.line.x1 < a.right - 3 * a.line.size
        return a.line.x1 < a.right - 3 * a.line.size

    return [(a.column == b.column and b.line.bottom - a.line.bottom > wide) or ends(a, b) for a, b in pairs]
