"""A paper as numbered passages: its paragraphs, statements, algorithms and small tables as readable text.

A model is shown passages by number and names the numbers it drew on, so that what it says leads back to offsets of
the paper without being quoted."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal

from xkg.build.paper.document import Document
from xkg.build.paper.plain import plain
from xkg.build.paper.sentences import Sentence
from xkg.build.paper.sentences import sentences as prose
from xkg.build.techniques.definitions import Reader
from xkg.build.techniques.section_roles import Part, Role, outline, role_of_title
from xkg.model import Excerpt

Span = tuple[int, int]
LONGEST_TABLE = 2500  # characters; a larger one lists results
_LEAST = 40  # characters of what stands between paragraphs, to be a statement
_TABLE = re.compile(
    r"\\begin\{(tabular[x*]?|longtable)\}.{0,20000}?\\end\{\1\}"
    r"|(?:^[ \t]*\|[^\n]*\|[ \t]*(?:\n|\Z)){2,}|<table\b.{0,20000}?</table>",
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
    """A sentence, or all of what is not running text: readable text, and where it stands."""

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
    """All passages of a paper, with the sentences and parts that they were made from."""

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
        """Where these passages stand, in their order; what a float cuts in two gives two."""
        out: list[Excerpt] = []
        for number in numbers:
            passage = self[number]
            for start, end in self._joined([s for p in passage.pieces for s in p.spans]):
                path, line = self.document.place(start) or (None, None)
                section = passage.part.title if passage.part is not None else ""
                out.append(Excerpt(section=section, start=start, end=end, path=path, line=line))
        return tuple(out)

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
    sentences = prose(document)
    parts = outline(document, sentences)
    part_of: list[Part | None] = [None] * len(sentences)
    for part in parts:
        for p in part.walk():
            for i in p.sentences:
                part_of[i] = p
    found = [*_paragraphs(sentences, part_of), *_set_apart(document, sentences, parts)]
    kept = sorted((f for f in found if _says_something(*f)), key=lambda f: f[2][0].spans[0][0])
    listed = tuple(Passage(n, kind, part, pieces) for n, (kind, part, pieces) in enumerate(kept, start=1))
    return Passages(Reader(document, sentences, part_of), parts, listed)


_Found = tuple[Literal["text", "statement", "algorithm", "table"], Part | None, tuple[Piece, ...]]


def _says_something(kind: str, part: Part | None, pieces: Sequence[Piece]) -> bool:
    """Not references, thanks and the like (but other appendices may hold what a definition needs), nor lone marks."""
    if part is not None and (role_of_title(part.title) is Role.BACK or (part.role is Role.BACK and not part.appendix)):
        return False
    return kind != "text" or any("$" in p.text or len(_WORD.findall(p.text)) > 2 for p in pieces)


def _paragraphs(sentences: Sequence[Sentence], part_of: Sequence[Part | None]) -> Iterator[_Found]:
    for _, group in groupby(range(len(sentences)), key=lambda i: (sentences[i].paragraph, id(part_of[i]))):
        members = list(group)
        yield "text", part_of[members[0]], tuple(Piece(sentences[i].text, sentences[i].spans) for i in members)


def _set_apart(document: Document, sentences: Sequence[Sentence], parts: Sequence[Part]) -> Iterator[_Found]:
    """Algorithms, and what stands between the paragraphs of a part: statements of theorems, small tables."""
    text = document.text
    taken = [span for s in sentences for span in s.spans]
    for algorithm in document.algorithms:
        taken.append((algorithm.start, algorithm.end))
        body = f"{algorithm.title}\n{algorithm.body}".strip()
        if body:
            home = _home(parts, algorithm.start)
            yield "algorithm", home, (Piece(body, ((algorithm.start, algorithm.end),)),)
    for part in (p for top in parts for p in top.walk()):
        if part.role is Role.ABSTRACT:
            continue
        inner = [(c.start, c.end) for c in part.children]
        for start, end in _gaps(part.body_start, part.end, sorted([*taken, *inner])):
            table = _TABLE.search(text, start, end)
            if table:
                if len(table[0]) <= LONGEST_TABLE and _SETTINGS.search(part.title + text[start:end]):
                    shown = " ".join(_SPACING.sub("", table[0]).split())
                    yield "table", part, (Piece(shown, (table.span(),)),)
            elif end - start >= _LEAST and len(shown := plain(document, start, end)) >= _LEAST:
                yield "statement", part, (Piece(" ".join(shown.split()), ((start, end),)),)


def _gaps(start: int, end: int, taken: Sequence[Span]) -> Iterator[Span]:
    for low, high in [*taken, (end, end)]:
        if low >= end:
            low = high = end
        if low > start:
            yield start, low
        start = max(start, high)


def _home(parts: Sequence[Part], offset: int) -> Part | None:
    found = None
    for part in parts:
        for p in part.walk():
            if p.start <= offset < p.end and p.role is not Role.ABSTRACT:
                found = p
    return found
