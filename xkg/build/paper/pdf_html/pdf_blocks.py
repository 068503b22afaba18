"""Lines of a printed paper as blocks: title, headings, paragraphs, captions, algorithms, equations, references.

A heading is recognised by its font: that of "Introduction" or "References", and of the numbers of subsections. Parts
that are neither text nor a caption (labels of figures, cells of tables, footnotes) are omitted.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from xkg.build.paper.headings import is_references, normalised, split_number
from xkg.build.paper.pdf_html.pdf_layout import Placed, body_size
from xkg.build.paper.pdf_html.pdf_references import entries

Kind = Literal["title", "front", "abstract", "heading", "text", "caption", "algorithm", "equation", "reference"]

_KNOWN = re.compile(
    r"(?i)(abstract|introduction|related works?|background|preliminaries|methods?|methodology|experiments?|results|"
    r"discussion|conclusions?|references|bibliography|acknowledge?ments?|appendi(?:x|ces)|limitations|evaluation)$"
)
_ALONE = re.compile(r"(?i)(abstract|references|bibliography|acknowledge?ments?|(?:\d\.?|I\.)? ?introduction)\W*$")
_ABSTRACT = re.compile(r"(?i)(abstract|a b s t r a c t|summary)\s{0,3}[.:—–-]+\s*(?=\S)")
_CAPTION = re.compile(r"(?:Figure|FIGURE|Fig\.|FIG\.|Table|TABLE|Tab\.|Listing)\s{0,2}[A-Z]?\.?(?:\d+|[IVX]+)[a-z]?\b")
_ALGORITHM = re.compile(r"(?:Algorithm|ALGORITHM|Procedure)\s+[A-Z]?\.?\d{1,3}\b")
_STEP = re.compile(
    r"(?i)\s*(?:\d{1,3}\s*[:.]|(?:end|return|input|output|require|ensure|until|repeat|initiali[sz]e|while|for|foreach|if|"
    r"else|data|result|parameters?|procedure|function|do|set|compute|update|sample)\b)"
)
_ITEM = re.compile(r"(?:[•▪■◦‣∙–-]|\(?\d{1,2}[.)]|\([a-z]\)|\([ivx]{1,4}\)|\[\d{1,3}\])\s")
_NOTE = re.compile(r"[∗*†‡§¶\d]|(?:Corresponding|E-?mail|Manuscript|Copyright|©|Permission|The authors?)\b")
_NOT_TEXT = re.compile(r"(?i)(?:key ?words|index terms|ccs concepts|acm reference|categories and subject)\b")
_SHORTEST_ABSTRACT = 40  # words
_FEWEST_ENTRIES = 4  # of a bibliography without a heading
_TERMINAL = re.compile(r"[.:!?][)\]”\"’']?\s*$")
_MATH_SIGN = re.compile(r"[=<>≤≥≈∼∝∑∏∫∈→←∂∇±×·⊙∥≜≡]|arg ?m|\(\d{1,3}[a-z]?\)\s*$")


@dataclass(frozen=True, slots=True)
class Block:
    """`level` is the level of a heading from 1 on; 0 for other blocks."""

    kind: Kind
    lines: tuple[Placed, ...]
    level: int = 0

    @property
    def text(self) -> str:
        return " ".join(placed.line.text.strip() for placed in self.lines)


def blocks(lines: Sequence[Placed], title: str) -> list[Block]:
    """The blocks in reading order. `title` is from the metadata and used where the first page confirms it."""
    if not lines:
        return []
    body = body_size(placed.line for placed in lines)
    first, last = _title(lines, title, body)
    fonts = _HeadingFonts(lines[last:], body)
    out = [Block("title", tuple(lines[first:last]))] if last > first else []
    groups = list(_groups(lines[last:], body, fonts))
    begins = next((i for i, group in enumerate(groups) if _opens(group, fonts)), 0)
    abstract = _unnamed_abstract(groups[:begins], body)
    cited: list[Placed] | None = None
    unnamed, expected = _unnamed_bibliography(groups, fonts), -1
    for index, group in enumerate(groups):
        level = fonts.level(group) if index >= begins else 0
        label = _label(group)
        if cited is None and (index == unnamed or label == expected):
            cited = []  # it goes on after a heading that stands in its midst
        if cited is not None and label is not None:
            expected = label + 1
        if level:
            out += _bibliography(cited or (), body, fonts)
            cited = [] if re.match(r"(?i)\W*(references|bibliography)\b", _bare(_text(group))) else None
            out.append(Block("heading", group, level))
        elif cited is not None:
            cited += group if not _CAPTION.match(_text(group)) else ()
        elif index < begins:
            out.append(Block("abstract" if index in abstract else "front", group))
        elif (kind := _kind(group, body) or _rest(out, group, body)) is not None:
            out.append(Block(kind, group))
        elif _introduces(group, groups[index - 1 : index] + groups[index + 1 : index + 2], body):
            out.append(Block("text", group))
    out += _bibliography(cited or (), body, fonts)
    return _whole(out, body)


def _bibliography(lines: Sequence[Placed], body: float, fonts: "_HeadingFonts") -> list[Block]:
    found, after = entries(lines)
    text = [Block(kind, group) for group in _groups(after, body, fonts) if (kind := _kind(group, body)) is not None]
    return [Block("reference", entry) for entry in found] + text


def _unnamed_bibliography(groups: Sequence[Sequence[Placed]], fonts: "_HeadingFonts") -> int | None:
    """Where a bibliography without a heading begins: at the first of paragraphs "[1] …", "[2] …", one after another."""
    if any(fonts.level(group) and is_references(_bare(_text(group))) for group in groups):
        return None
    labels = [_label(group) for group in groups]
    for start in (index for index, label in enumerate(labels) if label == 1):
        numbers = [label for label in labels[start:] if label is not None]
        if numbers[:_FEWEST_ENTRIES] == list(range(1, _FEWEST_ENTRIES + 1)):
            return start
    return None


def _label(group: Sequence[Placed]) -> int | None:
    """The number of an entry "[12] …" of a bibliography."""
    match = re.match(r"\[(\d{1,3})\]\s", group[0].line.text)
    return int(match[1]) if match else None


def _unnamed_abstract(front: Sequence[Sequence[Placed]], body: float) -> frozenset[int]:
    """The paragraphs of running text that stand before a first section without being called an abstract."""
    running = [i for i, group in enumerate(front) if _kind(group, body) == "text" and _TERMINAL.search(_text(group))]
    words = sum(len(_text(front[index]).split()) for index in running)
    return frozenset(running if words >= _SHORTEST_ABSTRACT else ())


def _opens(group: Sequence[Placed], fonts: "_HeadingFonts") -> bool:
    """Whether the paper's text begins here: with its abstract, or with its first section."""
    title = _bare(_text(group)).strip(" .:")
    return abstract_mark(group) > 0 or (
        fonts.level(group) > 0 and (_KNOWN.match(title) is not None or "A B S T" in title)
    )


def abstract_mark(lines: Sequence[Placed]) -> int:
    """The length of "Abstract—" or the like at the start of a paragraph, 0 where it begins otherwise."""
    match = _ABSTRACT.match(lines[0].line.text)
    if match is not None:
        return match.end()
    first = lines[0].line.runs[0]
    return (
        len(first.text) if first.style.bold and re.fullmatch(r"(?i)abstract\s*", first.text) and len(lines) > 1 else 0
    )


def _text(group: Sequence[Placed]) -> str:
    return " ".join(placed.line.text.strip() for placed in group)


def _bare(text: str) -> str:
    return split_number(text.strip("§ "))[1].strip()


# --- title ------------------------------------------------------------------------------------------------------------


def _title(lines: Sequence[Placed], metadata_title: str, body: float) -> tuple[int, int]:
    """The first and last line of the title: the largest text of the first page's upper part."""
    page = [p for p in lines if p.line.page == lines[0].line.page]
    upper = [i for i, p in enumerate(page) if p.line.top < 0.6 * max(q.line.bottom for q in page)]
    if len(metadata_title.split()) > 2:
        for start in upper:
            for end in range(start + 1, min(start + 5, len(page) + 1)):
                if normalised(_text(page[start:end])) == normalised(metadata_title):
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
        if len(_text(page[start:end]).split()) > 2:
            return start, end
    return 0, 0


# --- headings ---------------------------------------------------------------------------------------------------------

Font = tuple[float, bool, bool, bool]


class _HeadingFonts:
    """The fonts of headings (size, bold, italic, capitals), and the level of each."""

    def __init__(self, lines: Sequence[Placed], body: float) -> None:
        self._body = body
        self._levels: dict[Font, Counter[int]] = {}
        self._numbered: Counter[Font] = Counter()
        self._numbers: set[str] = set()
        numbered: dict[Font, set[str]] = {}
        for placed in lines:
            font = self._font(placed)
            text = placed.line.text.strip(" §")
            if font is None or not 3 <= len(text) <= 120:
                continue
            number, title = split_number(text)
            lettered = bool(re.fullmatch(r"[A-H]", number or ""))  # may be a subsection as well
            if number and self._stands_out(font):
                self._numbers.add(number)
            if _KNOWN.match(title.strip(" .:")) and not lettered and (number or self._stands_out(font)):
                self._levels.setdefault(font, Counter())[number.count(".") + 1 if number else 1] += 3
            elif number and title[:1].isupper() and self._stands_out(font) and not text.endswith((",", ";")):
                numbered.setdefault(font, set()).add(number)
        for font, numbers in numbered.items():
            self._numbered[font] += len(numbers)
            if font in self._levels or sum("." in n for n in numbers) >= 2 or {"A", "B"} <= numbers:
                levels = self._levels.setdefault(font, Counter())
                lettered = not levels  # subsections "A." beside sections "I."
                for number in numbers:
                    levels[2 if lettered and number.isalpha() else number.count(".") + 1] += 1

    def level(self, group: Sequence[Placed]) -> int:
        """The level of a heading, 0 for other lines."""
        text = _text(group).lstrip("§ ")
        if _ALONE.match(text) or re.fullmatch(r"(?:[A-Z] ){4,}[A-Z]", text):
            return 1
        fonts = {self._font(placed) for placed in group}
        font = next(iter(fonts))
        if len(fonts) > 1 or font is None or len(text) > 150 or len(group) > 3:
            return 0
        number, title = split_number(text)
        if font not in self._levels and not (len(group) == 1 and self._is_third_level(number, title)):
            return 0
        words = sum(len(word) for word in re.findall(r"[^\W\d_]{3,}", title))
        if (
            words < 0.5 * len(title.replace(" ", ""))
            or "@" in text
            or "http" in text
            or _CAPTION.match(text)
            or _ALGORITHM.match(text)
            or re.search(r"[=\[←]", text)
        ):
            return 0
        usual = self._levels[font].most_common(1)[0][0] if font in self._levels else 3
        if number is None and not _KNOWN.match(title.strip(" .:")):
            larger = font[0] > 1.05 * self._body
            if (not larger and (self._numbered[font] > 2 or not font[1])) or re.search(r"[.,;]$", text):
                return 0
        if number is not None and not title[:1].isupper():
            return 0
        return min(4, number.count(".") + 1 if number and number[0].isdigit() else usual)

    def _is_third_level(self, number: str | None, title: str) -> bool:
        """Whether "3.2.1 Atoms" stands in a subsection 3.2: small capitals do not show in a font."""
        inside = number is not None and number.count(".") == 2 and number.rpartition(".")[0] in self._numbers
        return inside and title[:1].isupper() and not re.search(r"[,;:]$|[.!?]\s", title)

    def same(self, a: Placed, b: Placed) -> bool:
        font = self._font(a)
        return font is not None and font in self._levels and font == self._font(b)

    def is_heading(self, placed: Placed) -> bool:
        return bool(self.level((placed,)))

    def _stands_out(self, font: Font) -> bool:
        return font[1] or font[2] or font[3] or font[0] >= 1.08 * self._body

    @staticmethod
    def _font(placed: Placed) -> Font | None:
        """None for a line in several fonts; words in a font of formulas do not count."""
        runs = [run for run in placed.line.runs if re.search(r"[^\W\d_]", run.text) and not run.style.math]
        if not runs:
            return None
        letters = "".join(re.findall(r"[^\W\d_]", placed.line.text))
        if len({(run.style.bold, run.style.italic) for run in runs}) > 1:
            return None
        size = max(run.style.size for run in runs)
        if not letters.isupper() and any(run.style.size < 0.9 * size for run in runs):
            return None
        return round(2 * size) / 2, runs[0].style.bold, runs[0].style.italic, letters.isupper() and len(letters) > 3


# --- paragraphs -------------------------------------------------------------------------------------------------------


def _groups(lines: Sequence[Placed], body: float, fonts: _HeadingFonts) -> Iterator[tuple[Placed, ...]]:
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
    """The end of the algorithm whose caption is at `start`; `start` itself where there is none."""
    if not _ALGORITHM.match(lines[start].line.text):
        return start
    steps, last, others = 0, start, 0
    for index in range(start + 1, min(start + 150, len(lines))):
        placed, before = lines[index], lines[index - 1].line
        if placed.column != lines[start].column:
            break
        gap = placed.line.bottom - before.bottom > (pitch + 0.35) * max(before.size, placed.line.size)
        if _STEP.match(placed.line.text) or "←" in placed.line.text:
            steps, last, others = steps + 1, index, 0
        elif steps >= 2 and gap and not _is_math(placed):
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
    """The line pitch within a paragraph, relative to the font size."""
    steps = Counter(
        round((b.line.bottom - a.line.bottom) / body, 2)
        for a, b in pairwise(lines)
        if a.column == b.column and abs(a.line.size - body) < 0.6 and b.line.bottom - a.line.bottom < 3 * body
    )
    return steps.most_common(1)[0][0] if steps else 1.2


def _parts(group: Sequence[Placed], placed: Placed, pitch: float, fonts: _HeadingFonts) -> bool:
    """Whether a line begins a new block."""
    before, line = group[-1].line, placed.line
    if group[-1].column != placed.column:
        return True
    heading = fonts.is_heading(group[0])
    if heading or fonts.is_heading(placed):
        close = line.bottom - before.bottom < 1.7 * max(before.size, line.size)
        return not (heading and close and fonts.same(group[-1], placed) and not split_number(line.text)[0])
    if line.bottom - before.bottom > (pitch + 0.35) * max(before.size, line.size):
        return True
    if abs(before.size - line.size) > 0.8 and min(len(before.text), len(line.text)) > 25:
        return True
    if _CAPTION.match(line.text) and re.match(r".{4,14}[.:|]", line.text):
        return True
    if _TERMINAL.search(before.text) and _begins_with_head(placed):
        return True
    if _ITEM.match(line.text) or _ALGORITHM.match(line.text):
        return True
    if _is_math(placed) != _is_math(group[-1]):
        return True
    indented = line.x0 - placed.left > 0.7 * line.size
    if indented and abs(before.x0 - placed.left) < 0.4 * line.size and not _ITEM.match(group[0].line.text):
        hanging = len(group) == 1 and not _TERMINAL.search(before.text) and before.x1 > placed.right - 3 * before.size
        return not hanging
    return before.x1 < placed.right - 3 * before.size and bool(_TERMINAL.search(before.text)) and line.text[0].isupper()


def _begins_with_head(placed: Placed) -> bool:
    """Whether a line begins with a run-in head: bold words with a capital before plain text."""
    runs = placed.line.runs
    head = next((index for index, run in enumerate(runs) if not run.style.bold), len(runs))
    text = "".join(run.text for run in runs[:head])
    plain = head < len(runs) and not runs[head].style.math
    return plain and text[:1].isupper() and re.search(r"[^\W\d_]{3}", text) is not None


def _is_math(placed: Placed) -> bool:
    """Whether a line is a displayed formula or a part of one: few words, and signs or indices."""
    text = placed.line.text
    words = [w for run in placed.line.runs if not run.style.math for w in re.findall(r"[^\W\d_]{3,}", run.text)]
    printed = len(text.replace(" ", ""))
    inset = placed.line.x0 - placed.left > 1.2 * placed.line.size
    share = sum(len(word) for word in words) / max(1, printed)
    signs = bool(_MATH_SIGN.search(text)) or any(run.style.math for run in placed.line.runs)
    return share < 0.4 and signs and (inset or share < 0.15) and len(words) < 8


def _is_caption(group: Sequence[Placed], body: float) -> bool:
    """Whether a caption and no sentence that begins with "Figure 3 shows"."""
    text, first = _text(group), group[0].line
    match = _CAPTION.match(text)
    if match is None:
        return False
    set_off = first.runs[0].style.bold or first.runs[0].style.italic or first.size < 0.96 * body
    return set_off or re.match(r"\s?[.:|–—]", text[match.end() :]) is not None or not text[match.end() :].strip()


def _rest(out: Sequence[Block], group: Sequence[Placed], body: float) -> Kind | None:
    """Text where the group is the last words of a paragraph, alone at the top of a column."""
    before = next((block for block in reversed(out) if not _stands_between(block, body)), None)
    if before is None or before.kind != "text" or _CAPTION.match(_text(group)) or _is_math(group[0]):
        return None
    cut = _in_size(group[0], body) and _TERMINAL.search(_text(group)) and len(group) < 3
    return "text" if cut and _goes_on(before, Block("text", tuple(group))) else None


def _introduces(group: Sequence[Placed], beside: Sequence[Sequence[Placed]], body: float) -> bool:
    """Whether a few words at the left edge belong to a displayed formula before or after: "or, equivalently,"."""
    first, text = group[0], _text(group)
    letters = sum(c.isalpha() for c in text)
    at_edge = _in_size(first, body) and -1 < first.line.x0 - first.left < 2.5 * first.line.size
    few = "  " in text or not re.search(r"[^\W\d_]{2}", text) or letters < 0.6 * len(text.replace(" ", ""))
    return at_edge and not few and any(all(_is_math(placed) for placed in other) for other in beside)


def _kind(group: Sequence[Placed], body: float) -> Kind | None:
    text = _text(group)
    if _ALGORITHM.match(text) and sum(bool(_STEP.match(p.line.text)) or "←" in p.line.text for p in group) >= 2:
        return "algorithm"
    if _is_caption(group, body):
        return "caption"
    if all(_is_math(placed) for placed in group):
        return "equation" if any(abs(p.line.size - body) < 1 for p in group) and _MATH_SIGN.search(text) else None
    gaps = [placed.line.text.strip().count("  ") for placed in group]
    if max(gaps) > 1 or sum(gap > 0 for gap in gaps) * 2 > len(gaps):
        return None  # labels of a figure, or cells, side by side
    if _NOT_TEXT.match(text):
        return None
    size = group[0].line.size
    if size < 0.93 * body and _NOTE.match(text):
        return None
    printed = text.replace(" ", "")
    letters, words = sum(c.isalpha() for c in printed), re.findall(r"[^\W\d_]{2,}", text)
    small = sum(c.islower() for c in printed)
    continued = text[0].islower() and _TERMINAL.search(text) is not None and abs(size - body) < 0.6
    if letters < 0.6 * len(printed) or (len(words) < 6 and not continued) or small < 0.5 * letters:
        return None
    wide = any(p.line.x1 - p.line.x0 > 0.6 * (p.right - p.left) for p in group)
    return "text" if wide or continued or (_TERMINAL.search(text) and abs(size - body) < 1.1) else None


def _whole(blocks: Sequence[Block], body: float) -> list[Block]:
    """Joins paragraphs, lists of steps and references that a column or a float cuts in two."""
    out: list[Block] = []
    for block in blocks:
        index = len(out) - 1
        if block.kind == "text" and _in_size(block.lines[0], body):
            while index >= 0 and _stands_between(out[index], body):
                index -= 1
        before = out[index] if index >= 0 else None
        if before is not None and before.kind == block.kind and _goes_on(before, block):
            out[index] = Block(block.kind, (*before.lines, *block.lines))
        else:
            out.append(block)
    return out


def _stands_between(between: Block, body: float) -> bool:
    """Whether it may be a float, or its text, between a paragraph's two parts."""
    if between.kind in ("caption", "algorithm"):
        return True
    return between.kind == "text" and not _in_size(between.lines[0], body)


def _in_size(placed: Placed, body: float) -> bool:
    return abs(placed.line.size - body) < 0.6


def _goes_on(before: Block, block: Block) -> bool:
    if block.kind == "equation":
        return True
    if block.kind != "text" or _TERMINAL.search(before.text) or block.text[0].isdigit():
        return False
    first, last = block.lines[0], before.lines[-1]
    return last.column != first.column and abs(last.line.size - first.line.size) < 0.6
