"""A paper as numbered passages: its paragraphs, statements, algorithms and small tables as readable text.

A model cites passages by number, so that its answer leads back to offsets of the paper without quotes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal

from xkg.build.paper.document import Document
from xkg.build.paper.plain import plain
from xkg.build.paper.sentences import Sentence
from xkg.build.techniques.definitions import Reader, excerpt_of, read
from xkg.build.techniques.section_roles import Part, Role, part_at, role_of_title
from xkg.model import Excerpt

Span = tuple[int, int]
LONGEST_TABLE = 2500  # characters; a larger one lists results
_LEAST = 40  # characters of a statement between paragraphs
_TABLE = re.compile(
    r"\\begin\{(tabular[x*]?|longtable)\}(?:(?!\\begin\{(?:tabular|longtable)).){0,20000}?\\end\{\1\}"
    r"|(?:^[ \t]*\|[^\n]*\|[ \t]*(?:\n|\Z)){2,}|<table\b(?:(?!<table\b).){0,20000}?</table>",
    re.DOTALL | re.MULTILINE,
)
_SETTINGS = re.compile(
    r"hyper-?parameters?|configurations?|architectures?|notations?|learning rate|batch size", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_SPACING = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|cmidrule|centering)\b(?:\([^)]{0,200}\))?(?:\{[^}]{0,200}\})?"
)


@dataclass(frozen=True)
class Piece:
    """A sentence, or a whole block that is not running text: its readable text and its position."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Passage:
    """`number` counts from 1 in reading order; `part` is None before the first heading."""

    number: int
    kind: Literal["text", "statement", "algorithm", "table"]
    part: Part | None
    pieces: tuple[Piece, ...]

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
    """All passages of a paper, with their sentences and parts."""

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
        """The spans of these passages, in order; a passage that a float interrupts has two."""
        return tuple(
            excerpt_of(self.document, self[number].part, start, end)
            for number in numbers
            for start, end in self._joined([s for p in self[number].pieces for s in p.spans])
        )

    def at(self, excerpts: Sequence[Excerpt]) -> list[int]:
        """The passages that these excerpts start in, in order."""
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
    """The passages of a paper. References and acknowledgements have none."""
    reader, parts = read(document)
    blocks = [*_paragraphs(reader.sentences, reader.part_of), *_other_blocks(document, reader.sentences, parts)]
    ordered = sorted((b for b in blocks if _has_content(*b)), key=lambda b: b[2][0].spans[0][0])
    listed = tuple(Passage(n, kind, part, pieces) for n, (kind, part, pieces) in enumerate(ordered, start=1))
    return Passages(reader, parts, listed)


_Block = tuple[Literal["text", "statement", "algorithm", "table"], Part | None, tuple[Piece, ...]]


def _has_content(kind: str, part: Part | None, pieces: Sequence[Piece]) -> bool:
    """False for references, acknowledgements and the like (other appendices may support a definition) and for lone
    punctuation."""
    if part is not None and (role_of_title(part.title) is Role.BACK or (part.role is Role.BACK and not part.appendix)):
        return False
    return kind != "text" or any("$" in p.text or len(_WORD.findall(p.text)) > 2 for p in pieces)


def _paragraphs(sentences: Sequence[Sentence], part_of: Sequence[Part | None]) -> Iterator[_Block]:
    for _, group in groupby(range(len(sentences)), key=lambda i: (sentences[i].paragraph, id(part_of[i]))):
        members = list(group)
        yield "text", part_of[members[0]], tuple(Piece(sentences[i].text, sentences[i].spans) for i in members)


def _other_blocks(document: Document, sentences: Sequence[Sentence], parts: Sequence[Part]) -> Iterator[_Block]:
    """Algorithms, and blocks between the paragraphs of a part: statements of theorems, small tables."""
    text = document.text
    covered = [span for s in sentences for span in s.spans]
    for algorithm in document.algorithms:
        covered.append((algorithm.start, algorithm.end))
        body = f"{algorithm.title}\n{algorithm.body}".strip()
        if body:
            part = part_at(parts, algorithm.start)
            yield "algorithm", part, (Piece(body, ((algorithm.start, algorithm.end),)),)
    for part in (p for top in parts for p in top.walk()):
        if part.role is Role.ABSTRACT:
            continue
        inner = [(c.start, c.end) for c in part.children]
        for start, end in _gaps(part.body_start, part.end, sorted([*covered, *inner])):
            table = _TABLE.search(text, start, end)
            if table:
                if len(table[0]) <= LONGEST_TABLE and _SETTINGS.search(part.title + text[start:end]):
                    cells = " ".join(_SPACING.sub("", table[0]).split())
                    yield "table", part, (Piece(cells, (table.span(),)),)
            elif end - start >= _LEAST and len(statement := plain(document, start, end)) >= _LEAST:
                yield "statement", part, (Piece(" ".join(statement.split()), ((start, end),)),)


def _gaps(start: int, end: int, covered: Sequence[Span]) -> Iterator[Span]:
    for low, high in [*covered, (end, end)]:
        if low >= end:
            low = high = end
        if low > start:
            yield start, low
        start = max(start, high)
