"""Finds the title, authors and abstract of a printed paper."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from xkg.build.paper.front_matter import FrontRow
from xkg.build.paper.headings import KNOWN_TITLE, normalised
from xkg.build.paper.pdf_html.pdf_headings import HeadingFonts, without_number
from xkg.build.paper.pdf_html.pdf_kinds import kind_of
from xkg.build.paper.pdf_html.pdf_layout import Placed
from xkg.build.paper.pdf_html.pdf_lines import Run
from xkg.build.paper.pdf_html.pdf_marks import TERMINAL, caseless, text_of

_ABSTRACT = re.compile(r"(?i)(abstract|a b s t r a c t|summary)\s{0,3}[.:—–-]+\s*(?=\S)")
_SHORTEST_ABSTRACT = 40  # the minimum number of words in an abstract
_RAISED = 0.82  # the maximum size of a superscript, relative to the line
_SET_OFF = 1.25  # the minimum gap above a separate row, relative to the smallest row spacing


def find_title(lines: Sequence[Placed], metadata_title: str, body: float) -> tuple[int, int]:
    """Returns the range of lines that form the title. The title is the largest text in the upper part of the first
    page, or bold text at the top."""
    page = [p for p in lines if p.line.page == lines[0].line.page]
    upper = [i for i, p in enumerate(page) if p.line.top < 0.6 * max(q.line.bottom for q in page)]
    if len(metadata_title.split()) > 2:
        for start in upper:
            for end in range(start + 1, min(start + 5, len(page) + 1)):
                if normalised(text_of(page[start:end])) == normalised(metadata_title):
                    return start, end
    large = [i for i in upper if len(re.findall(r"[^\W\d_]", page[i].line.text)) >= 4]
    sizes = {i: page[i].line.size for i in large}
    for size in sorted(set(sizes.values()), reverse=True):
        if size < 1.05 * body:
            break
        start = next(i for i in large if sizes[i] == size)
        end = start + 1
        while end in sizes and sizes[end] >= 0.95 * size and page[end].line.top - page[end - 1].line.bottom < size:
            end += 1
        if _words(page[start:end]) > 2:
            return start, end
    bold = {i for i in large if all(run.style.bold for run in page[i].line.runs)}
    start = end = large[0] if large else 0
    while end in bold:
        end += 1
    text = text_of(page[start:end])
    return (start, end) if _words(page[start:end]) > 2 and not _ABSTRACT.match(text) else (0, 0)


def _words(group: Sequence[Placed]) -> int:
    text = text_of(group)
    return max(len(text.split()), caseless(text) // 2)


def opens(group: Sequence[Placed], fonts: HeadingFonts) -> bool:
    """Returns whether the paper's text begins with this group, as an abstract or the first section."""
    title = without_number(text_of(group)).strip(" .:")
    return abstract_mark(group) > 0 or (
        fonts.level(group) > 0 and (KNOWN_TITLE.match(title) is not None or "A B S T" in title)
    )


def unnamed_abstract(front: Sequence[Sequence[Placed]], body: float) -> frozenset[int]:
    """Returns the indices of the paragraphs before the first section that form an abstract without a heading."""
    running = [i for i, group in enumerate(front) if kind_of(group, body) == "text" and TERMINAL.search(text_of(group))]
    words = sum(len(text_of(front[index]).split()) for index in running)
    return frozenset(running if words >= _SHORTEST_ABSTRACT else ())


def abstract_mark(lines: Sequence[Placed]) -> int:
    """Returns the length of "Abstract—" or a similar label at the start of a paragraph, or 0 if there is none."""
    match = _ABSTRACT.match(lines[0].line.text)
    if match is not None:
        return match.end()
    first = lines[0].line.runs[0]
    return (
        len(first.text) if first.style.bold and re.fullmatch(r"(?i)abstract\s*", first.text) and len(lines) > 1 else 0
    )


def front_rows(lines: Sequence[Placed], title: Sequence[Placed], text: Placed) -> Iterator[FrontRow]:
    """Yields the printed rows between the title and the text. Joins side-by-side columns into rows, and omits lines in
    the title's font size."""
    first, last = title[0].line, title[-1].line
    front = (p for p in lines if p.line.page == first.page and last.bottom <= p.line.bottom <= text.line.top)
    rows: list[list[Placed]] = []
    for placed in sorted(front, key=lambda p: p.line.bottom):
        if placed.line.size > 0.97 * first.size:
            continue
        if rows and placed.line.bottom - rows[-1][0].line.bottom < 0.4 * placed.line.size:
            rows[-1].append(placed)
        else:
            rows.append([placed])
    tops = [min(placed.line.bottom for placed in row) for row in rows]
    steps = [after - before for before, after in pairwise(tops)]
    for row, step in zip(rows, (0.0, *steps), strict=False):
        cells = sorted(row, key=lambda p: p.line.x0)
        style = max((run for placed in cells for run in placed.line.runs), key=lambda run: len(run.text)).style
        printed = "  ".join(map(_with_signs, cells))
        yield FrontRow(
            printed, (style.bold, style.italic, round(cells[0].line.size)), step > _SET_OFF * min(steps, default=0)
        )


def _with_signs(placed: Placed) -> str:
    size = placed.line.size
    return "".join("*" if _is_raised(run, size) else run.text for run in placed.line.runs)


def _is_raised(run: Run, size: float) -> bool:
    return run.style.size < _RAISED * size and not re.search(r"[^\W\d_]{2}", run.text.replace("iD", ""))
