"""Retrieves the chunks of a paper about a technique: ranked by embedding, by name, by the passages that the technique
was extracted from, and by the role of their part of the paper; and those that its passages refer to.

The chunks are those of the published method (350 words, 100 of them shared with the next). An embedder may truncate
them, so the similarity of a chunk is the maximum over shorter stretches."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from xkg.build.guided.reading.cross_references import referenced
from xkg.build.guided.reading.passages import Passage, Passages
from xkg.build.techniques.definitions import mentions
from xkg.build.techniques.section_roles import Role
from xkg.embeddings.base import Embedder
from xkg.fusion import reciprocal_rank_fusion
from xkg.model import Technique

WORDS = 350
OVERLAP = 100
TOP = 5
_REFERENCES = 3
_STRETCH = 120  # words that no embedder truncates
_WIDE = re.compile(r"\$[^$]{25,}\$")  # long formulas, which embed poorly
_WEIGHTS = (1.0, 0.8, 0.8)
# The factor for parts that do not describe the method itself.
_ROLE_FACTORS = {
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
    """For each technique its best chunks, in order, at most `TOP`. Raises `EmbeddingError`."""
    candidates = chunks(passages)
    if not candidates or not techniques:
        return [[] for _ in techniques]
    similarity = _similarity(techniques, candidates, passages, embedder)
    factors = [max(_role_factor(passages[n]) for n in chunk.numbers) for chunk in candidates]
    nearest = []
    for technique, row in zip(techniques, similarity, strict=True):
        rankings = [sorted(range(len(candidates)), key=lambda c: -row[c])]
        for relevant in (_naming(technique, passages), _origin(technique, passages)):
            counts = [sum(piece in relevant for piece in chunk.pieces) for chunk in candidates]
            rankings.append([c for c in sorted(rankings[0], key=lambda c: -counts[c]) if counts[c]])
        fused = reciprocal_rank_fusion([[str(c) for c in ranking] for ranking in rankings], weights=_WEIGHTS)
        best = sorted(((int(c), score) for c, score in fused), key=lambda pair: (-pair[1] * factors[pair[0]], pair[0]))
        first, *rest = [c for c, _ in best]
        ordered = dict.fromkeys((first, *_referred_to(technique, passages, candidates, rankings[0]), *rest))
        nearest.append([candidates[c] for c in list(ordered)[:TOP]])
    return nearest


def _referred_to(
    technique: Technique, passages: Passages, candidates: Sequence[Chunk], by_similarity: Sequence[int]
) -> list[int]:
    """The most similar chunk of each of the first places that the technique's own passages refer to: a paper that says
    "the update is in Lemma B.3" says the update there, in whatever words."""
    places = referenced(passages.at(technique.excerpts), passages)[:_REFERENCES]
    inside = (next((c for c in by_similarity if place & set(candidates[c].numbers)), None) for place in places)
    return [c for c in inside if c is not None]


def _similarity(
    techniques: Sequence[Technique], candidates: Sequence[Chunk], passages: Passages, embedder: Embedder
) -> list[list[float]]:
    """The cosine of each technique and the most similar stretch of each chunk."""
    stretches = [s for part in _by_main_part(passages) for s in _runs(part, _STRETCH, 0)]
    texts = [_WIDE.sub(" ", " ".join(passages[n].pieces[i].text for n, i in s)) for s in stretches]
    queries = embedder.embed([f"{', '.join((t.name, *t.aliases))}. {t.definition}" for t in techniques])
    cosines = (queries @ embedder.embed(texts).T).round(4).tolist()
    of_piece = {piece: k for k, stretch in enumerate(stretches) for piece in stretch}
    members = [sorted({of_piece[piece] for piece in chunk.pieces}) for chunk in candidates]
    return [[max(row[k] for k in ks) for ks in members] for row in cosines]


def _naming(technique: Technique, passages: Passages) -> set[Piece]:
    """The sentences that name a technique."""
    sentences = passages.reader.sentences
    starts = {sentences[i].start for i in mentions([technique.name, *technique.aliases], passages.reader)}
    return {(p.number, i) for p in passages.listed for i, piece in enumerate(p.pieces) if piece.spans[0][0] in starts}


def _origin(technique: Technique, passages: Passages) -> set[Piece]:
    """The passages that the technique was extracted from."""
    return {(n, i) for n in passages.at(technique.excerpts) for i in range(len(passages[n].pieces))}


def _role_factor(passage: Passage) -> float:
    if passage.part is not None and passage.role is not Role.RELATED and _SETTINGS.search(passage.part.title):
        return 1.0
    return _ROLE_FACTORS.get(passage.role, 1.0)


def chunks(passages: Passages) -> list[Chunk]:
    """The paper in chunks of about `WORDS` words that overlap by `OVERLAP`, cut between sentences, so never inside an
    equation, and never across main parts."""
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
    """Runs of at most `most` words, or of one longer piece; each begins with the last whole pieces of the previous, of
    at most `shared` words."""
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
