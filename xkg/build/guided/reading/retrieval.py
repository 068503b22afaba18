"""Which stretches of a paper tell of a technique: overlapping chunks, ranked by meaning, by name, by the passages that
the technique was read from, and by what their part of the paper is for.

The chunks are those of the published method (350 words, 100 of them shared with the next). An embedder may read less
than that, so a chunk is as near as the nearest of its shorter stretches."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from xkg.build.guided.reading.passages import Passage, Passages
from xkg.build.techniques.definitions import mentions
from xkg.build.techniques.section_roles import Role
from xkg.embeddings.base import Embedder
from xkg.fusion import reciprocal_rank_fusion
from xkg.model import Technique

WORDS = 350
OVERLAP = 100
TOP = 5
_READ = 120  # words that every embedder reads whole
_WIDE = re.compile(r"\$[^$]{25,}\$")  # formulas that are mostly notation, which says little to an embedder
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


Piece = tuple[int, int]  # passage number, index of the piece in it


@dataclass(frozen=True)
class Chunk:
    """Neighbouring pieces of a paper, in reading order."""

    pieces: tuple[Piece, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(number for number, _ in self.pieces))


def nearest_chunks(techniques: Sequence[Technique], passages: Passages, embedder: Embedder) -> list[list[Chunk]]:
    """For each technique the chunks that tell most of it, best first, at most `TOP`. Raises `EmbeddingError`."""
    found = chunks(passages)
    if not found or not techniques:
        return [[] for _ in techniques]
    near = _nearness(techniques, found, passages, embedder)
    worth = [max(_worth(passages[n]) for n in chunk.numbers) for chunk in found]
    out = []
    for technique, row in zip(techniques, near, strict=True):
        rankings = [sorted(range(len(found)), key=lambda c: -row[c])]
        for wanted in (_naming(technique, passages), _given(technique, passages)):
            counts = [sum(piece in wanted for piece in chunk.pieces) for chunk in found]
            rankings.append([c for c in sorted(rankings[0], key=lambda c: -counts[c]) if counts[c]])
        fused = reciprocal_rank_fusion([[str(c) for c in ranking] for ranking in rankings], weights=_WEIGHTS)
        best = sorted(((int(c), score) for c, score in fused), key=lambda pair: (-pair[1] * worth[pair[0]], pair[0]))
        out.append([found[c] for c, _ in best[:TOP]])
    return out


def _nearness(
    techniques: Sequence[Technique], found: Sequence[Chunk], passages: Passages, embedder: Embedder
) -> list[list[float]]:
    """The cosine of each technique and the nearest stretch of each chunk."""
    stretches = [s for part in _by_main_part(passages) for s in _runs(part, _READ, 0)]
    texts = [_WIDE.sub(" ", " ".join(passages[n].pieces[i].text for n, i in s)) for s in stretches]
    queries = embedder.embed([f"{', '.join((t.name, *t.aliases))}. {t.definition}" for t in techniques])
    cosines = (queries @ embedder.embed(texts).T).round(4).tolist()
    of_piece = {piece: k for k, stretch in enumerate(stretches) for piece in stretch}
    members = [sorted({of_piece[piece] for piece in chunk.pieces}) for chunk in found]
    return [[max(row[k] for k in ks) for ks in members] for row in cosines]


def _naming(technique: Technique, passages: Passages) -> set[Piece]:
    """The sentences that name a technique."""
    sentences = passages.reader.sentences
    starts = {sentences[i].start for i in mentions([technique.name, *technique.aliases], passages.reader)}
    return {(p.number, i) for p in passages.listed for i, piece in enumerate(p.pieces) if piece.spans[0][0] in starts}


def _given(technique: Technique, passages: Passages) -> set[Piece]:
    """The passages that the technique was read from."""
    return {(n, i) for n in passages.at(technique.excerpts) for i in range(len(passages[n].pieces))}


def _worth(passage: Passage) -> float:
    if passage.part is not None and passage.role is not Role.RELATED and _SETTINGS.search(passage.part.title):
        return 1.0
    return _WORTH.get(passage.role, 1.0)


def chunks(passages: Passages) -> list[Chunk]:
    """The paper in chunks of about `WORDS` words, cut between sentences, so never inside an equation; one starts
    `OVERLAP` words before the end of the one before. No chunk runs from one main part into another."""
    return [Chunk(tuple(run)) for part in _by_main_part(passages) for run in _runs(part, WORDS, OVERLAP)]


_Counted = tuple[Piece, int]  # with its number of words


def _by_main_part(passages: Passages) -> list[list[_Counted]]:
    def main(passage: Passage) -> int:
        part = passage.part
        while part is not None and part.parent is not None:
            part = part.parent
        return id(part)

    return [
        [((p.number, i), len(piece.text.split())) for p in group for i, piece in enumerate(p.pieces)]
        for _, group in groupby(passages.listed, key=main)
    ]


def _runs(pieces: Sequence[_Counted], most: int, shared: int) -> list[list[Piece]]:
    """Runs of at most `most` words, or of one piece that is longer; each begins with the last `shared` words of the one
    before, as far as whole pieces make them up."""
    out: list[list[Piece]] = []
    start = 0
    while start < len(pieces):
        end, count = start, 0
        while end < len(pieces) and (end == start or count + pieces[end][1] <= most):
            count += pieces[end][1]
            end += 1
        out.append([piece for piece, _ in pieces[start:end]])
        if end == len(pieces):
            break
        after, count = end, 0
        while after > start + 1 and count + pieces[after - 1][1] <= shared:
            after -= 1
            count += pieces[after][1]
        start = after
    return out
