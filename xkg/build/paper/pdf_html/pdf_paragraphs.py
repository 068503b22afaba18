"""Groups the lines of a printed paper into paragraphs, captions, formulas, and algorithms with all their steps."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from xkg.build.paper.headings import split_number
from xkg.build.paper.pdf_html.pdf_headings import HeadingFonts
from xkg.build.paper.pdf_html.pdf_layout import Placed
from xkg.build.paper.pdf_html.pdf_lines import Line
from xkg.build.paper.pdf_html.pdf_marks import ALGORITHM, CAPTION, ITEM, STEP, TERMINAL, is_math, starts_upper


def groups(lines: Sequence[Placed], body: float, fonts: HeadingFonts) -> Iterator[tuple[Placed, ...]]:
    pitch = _pitch(lines, body)
    group: list[Placed] = []
    until = 0
    for index, placed in enumerate(lines):
        begins = index >= until and (end := _algorithm_end(lines, index, pitch)) > index
        if group and (begins or (index >= until and (index == until > 0 or _parts(group, placed, pitch, fonts)))):
            yield tuple(group)
            group = []
        until = end if begins else until
        group.append(placed)
    if group:
        yield tuple(group)


def _algorithm_end(lines: Sequence[Placed], start: int, pitch: float) -> int:
    """Returns the end index of the algorithm captioned at `start`, or `start` itself if there is none."""
    if not ALGORITHM.match(lines[start].line.text):
        return start
    steps, last, others = 0, start, 0
    for index in range(start + 1, min(start + 150, len(lines))):
        placed, before = lines[index], lines[index - 1].line
        if placed.column != lines[start].column:
            break
        gap = placed.line.bottom - before.bottom > (pitch + 0.35) * max(before.size, placed.line.size)
        if STEP.match(placed.line.text) or "←" in placed.line.text:
            steps, last, others = steps + 1, index, 0
        elif steps >= 2 and gap and not is_math(placed):
            break
        else:
            others += 1
            if others > 4:
                break
            cut = before.x1 > placed.right - 2 * before.size or placed.line.x0 > placed.left + 2 * placed.line.size
            if last == index - 1 and steps and not gap and cut:
                last = index
    return last + 1 if steps >= 2 else start


def _pitch(lines: Sequence[Placed], body: float) -> float:
    """Returns the line spacing within a paragraph, relative to the font size."""
    steps = Counter(
        round((b.line.bottom - a.line.bottom) / body, 2)
        for a, b in pairwise(lines)
        if a.column == b.column and abs(a.line.size - body) < 0.6 and b.line.bottom - a.line.bottom < 3 * body
    )
    return steps.most_common(1)[0][0] if steps else 1.2


def _parts(group: Sequence[Placed], placed: Placed, pitch: float, fonts: HeadingFonts) -> bool:
    before, line = group[-1].line, placed.line
    if group[-1].column != placed.column:
        return True
    apart = line.bottom - before.bottom > (pitch + 0.35) * max(before.size, line.size)
    captioned = CAPTION.match(group[0].line.text) is not None and not apart and fonts.same(group[-1], placed)
    heading = fonts.is_heading(group[0])
    if heading or (fonts.is_heading(placed) and not captioned):
        close = line.bottom - before.bottom < 1.7 * max(before.size, line.size)
        return not (heading and close and fonts.same(group[-1], placed) and not split_number(line.text)[0])
    if apart:
        return True
    if abs(before.size - line.size) > 0.8 and min(len(before.text), len(line.text)) > 25:
        return True
    if CAPTION.match(line.text) and re.match(r".{4,14}[.:|]", line.text) and not _fills(group[-1], line):
        return True
    if TERMINAL.search(before.text) and _begins_with_head(placed):
        return True
    if ITEM.match(line.text) or ALGORITHM.match(line.text):
        return True
    if is_math(placed) != all(map(is_math, group)) and not (is_math(placed) and _fills(group[-1], line)):
        return True
    indented = line.x0 - placed.left > 0.7 * line.size
    if indented and abs(before.x0 - placed.left) < 0.4 * line.size and not ITEM.match(group[0].line.text):
        hanging = len(group) == 1 and not TERMINAL.search(before.text) and before.x1 > placed.right - 3 * before.size
        return not hanging
    return before.x1 < placed.right - 3 * before.size and bool(TERMINAL.search(before.text)) and starts_upper(line.text)


def _fills(placed: Placed, following: Line) -> bool:
    """Returns whether running text continues on the next line, even if that looks like the start of a caption, as in
    "Figure 2. We draw samples"."""
    full = placed.line.x1 > placed.right - placed.line.size and abs(placed.line.size - following.size) < 0.2
    indented = following.x0 - min(placed.line.x0, placed.left + 2.5 * following.size)  # as in a list item
    return full and not TERMINAL.search(placed.line.text) and indented < 1.8 * following.size


def _begins_with_head(placed: Placed) -> bool:
    """Returns whether a line begins with a run-in heading: bold words, starting with a capital letter, before plain
    text."""
    runs = placed.line.runs
    head = next((index for index, run in enumerate(runs) if not run.style.bold), len(runs))
    text = "".join(run.text for run in runs[:head])
    plain = head < len(runs) and not runs[head].style.math
    return plain and starts_upper(text) and re.search(r"[^\W\d_]{3}", text) is not None
