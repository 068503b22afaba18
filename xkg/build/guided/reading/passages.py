"""Splits a paper into numbered passages of readable text, with formulas as LaTeX. Passages are paragraphs, statements,
algorithms, tables, captions and footnotes.

A model cites passages by number, so its answer maps to offsets in the paper without quotes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal

from xkg.build.paper.document import Algorithm, Document
from xkg.build.paper.latex.algorithms import LABEL
from xkg.build.paper.latex.tables import rows
from xkg.build.paper.latex.tex.text import latex_text
from xkg.build.paper.latex.tex.tokens import Tex
from xkg.build.paper.markdown.blocks import is_mathpix, regions
from xkg.build.paper.plain import plain
from xkg.build.paper.sentences import Sentence
from xkg.build.techniques.definitions import Reader, excerpt_of, read
from xkg.build.techniques.section_roles import Part, Role, part_at, role_of_title
from xkg.model import Excerpt

Span = tuple[int, int]
LONGEST_TABLE = 2500  # characters; larger tables presumably list results
_LEAST = 40  # the minimum length of a statement between paragraphs, in characters
_TABLE = re.compile(
    r"\\begin\{(tabular[x*]?|longtable)\}(?:(?!\\begin\{(?:tabular|longtable)).){0,20000}?\\end\{\1\}"
    r"|(?:^[ \t]*\|[^\n]*\|[ \t]*(?:\n|\Z)){2,}|<table\b(?:(?!<table\b).){0,20000}?</table>",
    re.DOTALL | re.MULTILINE,
)
_SETTINGS = re.compile(
    r"hyper-?parameters?|configurations?|architectures?|notations?|learning rate|batch size", re.IGNORECASE
)
# Matches captions and footnotes in Markdown, as Mathpix and the PDF reader write them.
_BESIDE = re.compile(
    r"^(?:Figure|Fig\.|Table|Tab\.)[ \t]*[A-Z]?\.?\d[.\d]{0,6}[.:|][^\n]*$"
    r"|\\(?P<command>caption|footnotetext|footnote)\{",
    re.MULTILINE,
)
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Piece:
    """A sentence or a whole block, such as a table. Has readable text and a position."""

    text: str
    spans: tuple[Span, ...]


Kind = Literal["text", "statement", "algorithm", "table", "caption", "footnote", "float", "listing"]


@dataclass(frozen=True)
class Passage:
    """A numbered passage of a paper. `number` counts from 1 in reading order. `part` is None before the first
    heading."""

    number: int
    kind: Kind
    part: Part | None
    pieces: tuple[Piece, ...]
    settings: bool = False  # a table of hyper-parameters, an architecture or notation

    @cached_property
    def text(self) -> str:
        return " ".join(p.text for p in self.pieces)

    @property
    def role(self) -> Role:
        return self.part.role if self.part is not None else Role.ABSTRACT

    @property
    def start(self) -> int:
        return self.pieces[0].spans[0][0]


@dataclass(frozen=True)
class Passages:
    """All passages of a paper, with its sentences and parts."""

    reader: Reader
    parts: tuple[Part, ...]
    listed: tuple[Passage, ...]

    @property
    def document(self) -> Document:
        return self.reader.document

    def __getitem__(self, number: int) -> Passage:
        return self.listed[number - 1]

    def __contains__(self, number: int) -> bool:
        return 1 <= number <= len(self.listed)

    def excerpts(self, numbers: Sequence[int]) -> tuple[Excerpt, ...]:
        """Returns the spans of these passages, in order. A passage has two spans if a float interrupts it."""
        return tuple(
            excerpt_of(self.document, self[number].part, start, end)
            for number in numbers
            for start, end in self._joined([s for p in self[number].pieces for s in p.spans])
        )

    def at(self, excerpts: Sequence[Excerpt]) -> list[int]:
        """Returns the numbers of the passages in which these excerpts start, in order."""
        return [
            p.number
            for p in self.listed
            if any(start <= e.start < end for e in excerpts for piece in p.pieces for start, end in piece.spans)
        ]

    def _joined(self, spans: Sequence[Span]) -> list[Span]:
        out: list[Span] = []
        for start, end in spans:
            if out and not self.document.text[out[-1][1] : start].strip():
                out[-1] = (out[-1][0], end)
            else:
                out.append((start, end))
        return out


def read_passages(document: Document) -> Passages:
    """Returns the passages in a paper. Omits references and acknowledgements."""
    reader, parts = read(document)
    beside = _asides(document, parts) if document.format == "latex" else _gaps_of(document, reader.sentences, parts)
    blocks = [*_paragraphs(reader.sentences, reader.part_of), *_algorithms(document, parts), *beside]
    ordered = sorted((b for b in blocks if _has_content(*b[:3])), key=lambda b: b[2][0].spans[0][0])
    listed = tuple(Passage(n, kind, part, pieces, s) for n, (kind, part, pieces, s) in enumerate(ordered, start=1))
    return Passages(reader, parts, listed)


_Block = tuple[Kind, Part | None, tuple[Piece, ...], bool]


def _has_content(kind: str, part: Part | None, pieces: Sequence[Piece]) -> bool:
    if part is not None and (role_of_title(part.title) is Role.BACK or (part.role is Role.BACK and not part.appendix)):
        return False
    return kind != "text" or any("$" in p.text or _WORD.search(p.text) for p in pieces)


def _paragraphs(sentences: Sequence[Sentence], part_of: Sequence[Part | None]) -> Iterator[_Block]:
    for _, group in groupby(range(len(sentences)), key=lambda i: (sentences[i].paragraph, id(part_of[i]))):
        members = list(group)
        yield "text", part_of[members[0]], tuple(Piece(sentences[i].text, sentences[i].spans) for i in members), False


def _algorithms(document: Document, parts: Sequence[Part]) -> Iterator[_Block]:
    for algorithm in document.algorithms:
        name = document.labels.get(algorithm.label or "", "")
        title = f"{name}: {algorithm.title}" if name and algorithm.title else name or algorithm.title
        body = f"{title}\n{_numbered_lines(document, algorithm)}".strip()
        if body:
            part = part_at(parts, algorithm.start)
            yield "algorithm", part, (Piece(body, ((algorithm.start, algorithm.end),)),), False


def _numbered_lines(document: Document, algorithm: Algorithm) -> str:
    """Returns the steps of an algorithm. Numbers the steps if the paper refers to any of them."""
    labels = LABEL.findall(document.text, algorithm.start, algorithm.end)
    if not any(document.labels.get(label.strip(), "").startswith("line ") for label in labels):
        return algorithm.body
    return "\n".join(f"{n}: {line}" for n, line in enumerate(algorithm.body.split("\n"), start=1))


def _asides(document: Document, parts: Sequence[Part]) -> Iterator[_Block]:
    """Yields the tables, captions, footnotes, statements and listings in a LaTeX paper."""
    for aside in document.asides:
        if aside.text:
            part = part_at(parts, aside.start)
            settings = aside.kind == "table" and _is_settings(part, aside.text)
            yield aside.kind, part, (Piece(aside.text, ((aside.start, aside.end),)),), settings


def _is_settings(part: Part | None, table: str) -> bool:
    return len(table) <= LONGEST_TABLE and _SETTINGS.search(f"{part.title if part else ''} {table}") is not None


def _gaps_of(document: Document, sentences: Sequence[Sentence], parts: Sequence[Part]) -> Iterator[_Block]:
    """Yields the blocks between a part's paragraphs, such as theorem statements, listings, tables, captions and
    footnotes."""
    text = document.text
    for block in regions(text, mathpix=is_mathpix(text)):
        code = text[block.body_start : block.body_end].strip() if block.kind == "code" else ""
        if code and not any(a.start <= block.start < a.end for a in document.algorithms):
            yield "listing", part_at(parts, block.start), (Piece(code, ((block.body_start, block.body_end),)),), False
    tex = Tex(text)
    for match in _BESIDE.finditer(text):
        group = tex.group(match.end() - 1) if match["command"] else None
        start, end = (group.start, group.end) if group is not None else match.span()
        words = " ".join(latex_text(text[start:end]).split())
        if _WORD.search(words):
            kind: Kind = "footnote" if match["command"] and match["command"].startswith("foot") else "caption"
            yield kind, part_at(parts, match.start()), (Piece(words, ((start, end),)),), False
    covered = [span for s in sentences for span in s.spans]
    covered += [(a.start, a.end) for a in document.algorithms]
    for part in (p for top in parts for p in top.walk()):
        if part.role is Role.ABSTRACT:
            continue
        inner = [(c.start, c.end) for c in part.children]
        for start, end in _gaps(part.body_start, part.end, sorted([*covered, *inner])):
            at = start
            for table in _TABLE.finditer(text, start, end):
                yield from _statement(document, part, at, table.start())
                cells = _cells(table[0])
                settings = len(cells) <= LONGEST_TABLE and _SETTINGS.search(part.title + text[start:end]) is not None
                yield "table", part, (Piece(cells, (table.span(),)),), settings
                at = table.end()
            yield from _statement(document, part, at, end)


def _statement(document: Document, part: Part, start: int, end: int) -> Iterator[_Block]:
    if end - start >= _LEAST and len(statement := plain(document, start, end)) >= _LEAST:
        yield "statement", part, (Piece(" ".join(statement.split()), ((start, end),)),), False


def _cells(table: str) -> str:
    """Returns the rows of a table in LaTeX, Markdown or HTML."""
    if begin := re.match(r"\\begin\{(\w+\*?)\}", table):
        return rows(table[begin.end() : table.rindex("\\end{")], begin[1], latex_text)
    return "\n".join(" ".join(line.split()) for line in table.splitlines() if line.strip())


def _gaps(start: int, end: int, covered: Sequence[Span]) -> Iterator[Span]:
    for low, high in [*covered, (end, end)]:
        if low >= end:
            low = high = end
        if low > start:
            yield start, low
        start = max(start, high)
