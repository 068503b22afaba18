"""Finds code, formulas, tables, figures, captions and footnotes in a Markdown paper.

Papers use one of two dialects: hand-written Markdown or Mathpix output. Mathpix mixes Markdown with LaTeX headings and
formulas, and writes one line per paragraph. Figures and footnotes interrupt the text where they appear on the page, and
fences are not always closed."""

import bisect
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from xkg.build.paper.latex.tex.commands import ALGORITHMS, FLOATS, MATH_ENVIRONMENTS
from xkg.build.paper.latex.tex.tokens import Tex, environments

Kind = Literal["code", "math", "table", "image", "caption", "footnote", "comment", "front", "algorithm"]

MATHPIX = re.compile(r"^\\(?:title|(?:sub){0,2}section)\*?\{", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n`]*)$", re.MULTILINE)
_SECTION_LINE = re.compile(r"^\\(?:sub){0,2}section\*?\{", re.MULTILINE)
_CAPTION = re.compile(r"(?:\*\*|_|\*)?(?:Figure|Fig\.|Table|Tab\.|Listing)\s+[A-Z]?\.?\d+[a-z]?(?:\s*[.:|]|\*\*)")
_IMAGE = re.compile(r"(?:!\[[^\]\n]{0,500}\]\([^)\n]{0,1000}\)(?:\{[^}\n]{0,100}\})?\s*)+$")
_TABLE_RULE = re.compile(r"\s*+(?:\|\s*+)?:?-{2,}+:?\s*+(?:\|\s*+:?-{2,}+:?\s*+)*+(?:\|\s*+)?$")
_FOOTNOTE = re.compile(r"\\(?:footnotetext|blfootnote)(?:\[[^\]\n]{0,20}\])?(?=\s*\{)|\[\^[^\]\n]{1,40}\]:")
_STATED = re.compile(  # fields written by Jina's reader and models
    r"(?:\*\*)?Title:[^\n]+\n(?:\n*+(?:\*\*)?(?!Abstract)[A-Z][\w ()]{1,30}:[^\n]*\n){0,20}+"
    r"(?:\n*+Markdown Content:\n)?+"
)
_PANDOC = re.compile(r"%(?=[ \t\n])[^\n]*+(?:\n(?:%|[ \t]++\S)[^\n]*+){0,50}+(?=\n[ \t]*\n)")  # title, authors and date
_MARK = re.compile(  # converters' placeholders for pages and pictures
    r"[*_]{0,3}(?:\[[A-Z]+(?:_[A-Z]+)+(?::\w+)?\]"
    r"|(?:-{3,}|={2,})>?\s?(?:Start of (?P<part>[\w ]{1,40}\w)|\w[^\n]{0,200}?)\s?<?(?:-{3,}|={2,}))[*_]{0,3}(?:<br>)?$"
)
_BLANK = re.compile(r"\n[ \t]*\n")
_LONGEST_MATH = 20_000


@dataclass(frozen=True, slots=True)
class Region:
    """A block of Markdown that is not running text. The block spans `start` to `end`, while `body_start` and `body_end`
    exclude its delimiters."""

    kind: Kind
    start: int
    end: int
    body_start: int
    body_end: int


@lru_cache(maxsize=4)  # this function is called for every span in a paper
def is_mathpix(text: str) -> bool:
    return "\\section*{" in text or MATHPIX.search(text) is not None


def lines_of(text: str) -> list[tuple[int, int]]:
    """Returns the start and end of each line, excluding the line break."""
    spans, at = [], 0
    for line in text.split("\n"):
        spans.append((at, at + len(line)))
        at += len(line) + 1
    return spans


def regions(text: str, *, mathpix: bool) -> list[Region]:
    """Returns the blocks in `text`, in order and without overlaps."""
    return _Blocks(text, mathpix).find()


def inside_any(spans: list[Region], offset: int) -> Region | None:
    """Returns the region that contains `offset`, or None."""
    index = bisect.bisect_right(spans, offset, key=lambda region: region.start) - 1
    return spans[index] if index >= 0 and offset < spans[index].end else None


def _closing(marks: list[re.Match[str]], index: int, closers: list[int]) -> int | None:
    """Returns the closing fence for the fence at `index`, which has the same character, is at least as long, and ends
    its line."""
    first = bisect.bisect_right(closers, index)
    longer = (other for other in closers[first : first + 20] if len(marks[other][1]) >= len(marks[index][1]))
    return next(longer, None)


class _Blocks:
    def __init__(self, text: str, mathpix: bool) -> None:
        self.text, self.mathpix = text, mathpix
        self.lines = lines_of(text)
        self.tex = Tex(text) if "{" in text else None
        self.fences = self._fences()
        self.begins = {e.start: e for e in environments(text) if e.closed} if "\\begin" in text else {}
        self.never: set[str] = set()
        self.found_regions: list[Region] = []

    def find(self) -> list[Region]:
        at, last = 0, -1
        fence = {region.start: region for region in self.fences}
        starts = sorted(fence)
        for index, (start, end) in enumerate(self.lines):
            if start < at or index <= last:
                continue
            region = fence.get(start) or self._block(index, start, end)
            if region is None:
                continue
            following = bisect.bisect_right(starts, region.start)
            if region.kind != "code" and following < len(starts) and starts[following] < region.end:
                continue
            self.found_regions.append(region)
            at = region.end
        return self.found_regions

    def _fences(self) -> list[Region]:
        marks = list(_FENCE.finditer(self.text))
        sections = [m.start() for m in _SECTION_LINE.finditer(self.text)] if self.mathpix else []
        closers = {sign: [i for i, m in enumerate(marks) if m[1][0] == sign and not m[2].strip()] for sign in "`~"}
        fences: list[Region] = []
        index = 0
        while index < len(marks):
            mark = marks[index]
            closing = _closing(marks, index, closers[mark[1][0]])
            between = (
                bisect.bisect(sections, mark.start()) != bisect.bisect(sections, marks[closing].start())
                if closing is not None
                else True
            )
            if closing is not None and not between:
                close = marks[closing]
                fences.append(
                    Region("code", mark.start(), close.end(), min(mark.end() + 1, close.start()), close.start())
                )
                index = closing + 1
                continue
            # An unmatched closing fence was probably meant to enclose the text back to a blank line.
            earlier = fences[-1].end if fences else 0
            start = (
                max(earlier, self._paragraph_start(mark.start(), earlier))
                if closing is None or between
                else mark.start()
            )
            if start < mark.start() and self.mathpix:
                start += len(self.text[start : mark.start()]) - len(self.text[start : mark.start()].lstrip("\n"))
            else:
                start = mark.start()
            fences.append(Region("code", start, mark.end(), start, mark.start()))
            index += 1
        return fences

    def _paragraph_start(self, position: int, earliest: int) -> int:
        low = max(earliest, position - 20_000)
        blank = self.text.rfind("\n\n", low, position)
        return low if blank < 0 else blank + 2

    def _block(self, index: int, start: int, end: int) -> Region | None:
        text = self.text
        line = text[start:end]
        bare = line.strip()
        if not bare:
            return None
        first = start + (len(line) - len(line.lstrip()))
        if index == 0 and bare == "+++":
            return self._delimited("front", first, "\n+++", 5_000)
        if index == 0 and (match := _STATED.match(text) or _PANDOC.match(text)):
            return Region("front", first, match.end(), first, match.end())
        if index == 0 and bare == "---":
            closed = min(("\n---", "\n..."), key=lambda close: text.find(close, end, end + 5_000) % (len(text) + 1))
            return self._delimited("front", first, closed, 5_000)
        if bare.startswith("<!--"):
            return self._delimited("comment", first, "-->", 50_000)
        if bare.startswith("+++ =="):  # a nougat warning, followed by repeated text
            return self._delimited("comment", first, "+++", 50_000)
        if match := _MARK.match(bare):
            close = text.find(f"End of {match['part']}", end, end + 50_000) if match["part"] else -1
            stop = end if close < 0 else text.find("\n", close)
            return Region("comment", start, stop if stop >= 0 else len(text), start, end)
        if bare.startswith("\\["):
            return self._delimited("math", first, "\\]", _LONGEST_MATH)
        if bare.startswith("$$"):
            return self._delimited("math", first, "$$", _LONGEST_MATH)
        if bare.startswith("\\begin"):
            return self._environment(first)
        if (bare[0] == "\\" or bare[0] == "[") and (match := _FOOTNOTE.match(text, first)):
            return self._footnote(match, end)
        if bare.startswith("!") and _IMAGE.match(bare):
            return Region("image", start, end, first, end)
        if _CAPTION.match(bare):
            stop = end if self.mathpix else self._paragraph_end(start)
            return Region("caption", start, stop, first, stop)
        if "|" in bare and self._is_table(index):
            return self._table(index, start)
        if bare.lower().startswith(("<table", "<figure", "<img")):
            tag = bare[1:].split()[0].split(">")[0].lower()
            if tag == "img":
                return Region("image", start, end, first, end)
            return self._delimited("table", first, f"</{tag}>", 100_000)
        return None

    def _delimited(self, kind: Kind, start: int, close: str, longest: int) -> Region | None:
        if close in self.never:
            return None
        opener = 4 if kind == "comment" else 3 if kind == "front" else 2 if kind == "math" else 1
        end = self.text.find(close, start + opener)
        if end < 0:
            self.never.add(close)
            return None
        if end - start > longest:
            return None
        return Region(kind, start, end + len(close), start + opener, end)

    def _environment(self, start: int) -> Region | None:
        environment = self.begins.get(start)
        if environment is None:
            return None
        name = environment.name
        kind: Kind | None = None
        if name in MATH_ENVIRONMENTS:
            kind = "math"
        elif name in ALGORITHMS:
            kind = "algorithm"
        elif name in FLOATS:
            kind = "table"
        if kind is None:
            return None
        return Region(kind, start, environment.end, environment.body_start, environment.body_end)

    def _footnote(self, match: re.Match[str], line_end: int) -> Region | None:
        group = self.tex.group(match.end()) if self.tex and match.group()[0] == "\\" else None
        if group is not None:
            return Region("footnote", match.start(), group.after, group.start, group.end)
        return Region("footnote", match.start(), line_end, match.end(), line_end)

    def _paragraph_end(self, start: int) -> int:
        blank = _BLANK.search(self.text, start)
        return blank.start() if blank else len(self.text)

    def _is_table(self, index: int) -> bool:
        if index + 1 >= len(self.lines):
            return False
        start, end = self.lines[index + 1]
        return end - start < 2000 and "|" in self.text[start:end] and bool(_TABLE_RULE.match(self.text[start:end]))

    def _table(self, index: int, start: int) -> Region:
        last = index
        while last + 1 < len(self.lines) and "|" in self.text[slice(*self.lines[last + 1])]:
            last += 1
        end = self.lines[last][1]
        return Region("table", start, end, start, end)
