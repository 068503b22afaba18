"""Which stretches of a paper tell of a technique: overlapping chunks, ranked by meaning, by name, by the passages that
the technique was read from, and by what their part of the paper is for.

The chunks are those of the published method (350 words, 100 of them shared with the next). An embedder may read less
than that, so a chunk is as near as the nearest of the pieces it is embedded in."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from xkg.build.enrich import mentions
from xkg.build.guided.passages import Passage, Passages
from xkg.build.roles import Role
from xkg.embed import Embedder
from xkg.model import Technique
from xkg.ranking import reciprocal_rank_fusion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORDS = 350
OVERLAP = 100
TOP = 5
_PIECE = 110  # words that every embedder reads whole, formulas included
_WEIGHTS = (1.0, 0.8, 0.8)
# What parts other than those that tell how it is done are worth as evidence of how it is done.
_WORTH = {
    Role.BACKGROUND: 0.9,
    Role.ABSTRACT: 0.8,
    Role.INTRODUCTION: 0.8,
    Role.THEORY: 0.8,
    Role.EXPERIMENTS: 0.75,
    Role.BACK: 0.75,
    Role.CONCLUSION: 0.5,
    Role.DISCUSSION: 0.5,
    Role.RELATED: 0.5,
}
_SETTINGS = re.compile(
    r"hyper-?param|implementation|configuration|architecture|training|details|set-?up", re.IGNORECASE
)


@dataclass(frozen=True)
class Chunk:
    """Pieces `first` to `last` (inclusive) of the paper's pieces in reading order, as (passage number, index)."""

    pieces: tuple[tuple[int, int], ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(number for number, _ in self.pieces))


class Retrieval:
    """The chunks of one paper, embedded."""

    def __init__(self, passages: Passages, embedder: Embedder) -> None:
        self.passages = passages
        self.chunks = chunks(passages)
        self._embedder = embedder

    def nearest(self, techniques: Sequence[Technique]) -> list[list[Chunk]]:
        """For each technique its chunks, best first, at most `TOP`. Raises `EmbeddingError`."""
        if not self.chunks or not techniques:
            return [[] for _ in techniques]
        queries = self._embedder.embed([f"{', '.join((t.name, *t.aliases))}. {t.definition}" for t in techniques])
        cosines = queries @ self._vectors.T
        out = []
        for technique, row in zip(techniques, cosines, strict=True):
            near: dict[int, float] = {}
            for chunk, cosine in zip(self._owner, row.tolist(), strict=True):
                near[chunk] = max(near.get(chunk, -1.0), cosine)
            by_meaning = sorted(near, key=lambda c: (-near[c], c))
            named = self._counts(set(self._named(technique)))
            given = self._counts({(n, -1) for n in self.passages.at(technique.excerpts)})
            rankings = [[str(c) for c in by_meaning]]
            for counts in (named, given):
                rankings.append([str(c) for c in sorted(counts, key=lambda c: (-counts[c], -near[c], c))])
            fused = {int(c): score for c, score in reciprocal_rank_fusion(rankings, weights=_WEIGHTS)}
            best = sorted(fused, key=lambda c: (-fused[c] * self._worth[c], c))
            out.append([self.chunks[c] for c in best[:TOP]])
        return out

    @cached_property
    def _worth(self) -> list[float]:
        parts = [[self.passages[n] for n in chunk.numbers] for chunk in self.chunks]
        return [max(_worth(p) for p in chunk) for chunk in parts]

    def _named(self, technique: Technique) -> list[tuple[int, int]]:
        """The pieces of running text that name a technique."""
        reader = self.passages.reader
        found = mentions([technique.name, *technique.aliases], reader)
        return [self._piece_at[start] for i in found if (start := reader.sentences[i].start) in self._piece_at]

    @cached_property
    def _piece_at(self) -> dict[int, tuple[int, int]]:
        return {piece.spans[0][0]: (p.number, i) for p in self.passages.listed for i, piece in enumerate(p.pieces)}

    def _counts(self, wanted: set[tuple[int, int]]) -> dict[int, int]:
        """How many of the wanted pieces each chunk has; (number, -1) is any piece of that passage."""
        counts = {
            c: sum(p in wanted for p in chunk.pieces) + sum((n, -1) in wanted for n in chunk.numbers)
            for c, chunk in enumerate(self.chunks)
        }
        return {c: n for c, n in counts.items() if n}

    @cached_property
    def _embedded(self) -> tuple[list[int], list[str]]:
        owner, texts = [], []
        for c, chunk in enumerate(self.chunks):
            head = (part.title + ". ") if (part := self.passages[chunk.numbers[0]].part) is not None else ""
            words: list[str] = []
            for number, i in [*chunk.pieces, (0, 0)]:
                more = self.passages[number].pieces[i].text.split() if number else []
                if words and (not number or len(words) + len(more) > _PIECE):
                    owner.append(c)
                    texts.append(head + " ".join(words))
                    words = []
                words += more
        return owner, texts

    @property
    def _owner(self) -> list[int]:
        return self._embedded[0]

    @cached_property
    def _vectors(self) -> "NDArray[np.float32]":
        return self._embedder.embed(self._embedded[1])


def _worth(passage: Passage) -> float:
    if passage.part is not None and passage.role is not Role.RELATED and _SETTINGS.search(passage.part.title):
        return 1.0
    return _WORTH.get(passage.role, 1.0)


def chunks(passages: Passages) -> list[Chunk]:
    """The paper in chunks of about `WORDS` words, cut between sentences, so never inside an equation; one starts
    `OVERLAP` words before the end of the one before. No chunk runs from one main part into another."""
    out: list[Chunk] = []
    stretch: list[tuple[int, int, int]] = []
    main: object = None
    for passage in passages.listed:
        part = passage.part
        while part is not None and part.parent is not None:
            part = part.parent
        if part is not main and stretch:
            out += _cut(stretch)
            stretch = []
        main = part
        stretch += [(passage.number, i, len(piece.text.split())) for i, piece in enumerate(passage.pieces)]
    return [*out, *_cut(stretch)]


def _cut(stretch: Sequence[tuple[int, int, int]]) -> list[Chunk]:
    out: list[Chunk] = []
    start = 0
    while start < len(stretch):
        end, count = start, 0
        while end < len(stretch) and (end == start or count + stretch[end][2] <= WORDS):
            count += stretch[end][2]
            end += 1
        out.append(Chunk(tuple((number, i) for number, i, _ in stretch[start:end])))
        if end == len(stretch):
            break
        after, shared = end, 0
        while after > start + 1 and shared + stretch[after - 1][2] <= OVERLAP:
            after -= 1
            shared += stretch[after][2]
        start = after
    return out
