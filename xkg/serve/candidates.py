"""Which techniques a query may mean: BM25 and vector search over the whole query and over its parts, fused by score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xkg.model import paper_of
from xkg.ranking import convex_combination
from xkg.serve.filters import Filters
from xkg.serve.query_parts import parts
from xkg.store import Hit, Snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEPTH = 100
DEEPEST = 10_000

TEXT, VECTOR = 0.5, 0.5
"""Weights of the two searches."""

PARTS = 0.5
"""Weight of the part of a long query that fits best, beside the whole."""

COMPANY = 1 / 6
"""Weight of the best technique of the same paper: who asks for several steps asks within one subject."""

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]
"""Unit vectors of texts, a row each."""


@dataclass(frozen=True)
class Candidates:
    """Techniques by how strongly the two searches speak for them, in 0..1 within this query; the cosine of each to the
    whole query, at most that where vector search did not return it; and the vector of the whole query."""

    strength: dict[str, float]
    cosine: dict[str, float]
    vector: "NDArray[np.float32]"


def candidates(
    snapshot: Snapshot, embed: Embed, query: str, filters: Filters, papers: Sequence[str], wanted: int
) -> Candidates:
    """What is worth a look, at least `wanted` techniques if the graph has as many. Where filters leave too few, the
    searches go deeper. Raises what `embed` raises."""
    texts = [query, *parts(query)]
    vectors = embed(texts)
    depth = max(DEPTH, wanted)
    while True:
        by_text = [snapshot.find_text(text, depth, papers) for text in texts]
        by_vector = [snapshot.find_vector(vector, depth, papers) for vector in vectors]
        admitted = _admitted(snapshot, filters, [*by_text, *by_vector])
        exhausted = max(map(len, by_vector), default=0) < depth
        if admitted is None or len(admitted) >= wanted or exhausted or depth >= DEEPEST:
            break
        depth *= 10
    fused = [_fused(text, vector, depth, admitted) for text, vector in zip(by_text, by_vector, strict=True)]
    whole, rest = fused[0], fused[1:]
    strength = dict(whole)
    if rest:
        for technique in set().union(*fused):
            best = max(part.get(technique, 0.0) for part in rest)
            strength[technique] = (1 - PARTS) * whole.get(technique, 0.0) + PARTS * best
    cosines = {hit.id: hit.score for hit in by_vector[0]}
    weakest = min(cosines.values(), default=0.0)  # what vector search did not return is no closer than this
    return Candidates(
        strength=_in_company(strength), cosine={t: cosines.get(t, weakest) for t in strength}, vector=vectors[0]
    )


def _admitted(snapshot: Snapshot, filters: Filters, found: Sequence[Sequence[Hit]]) -> set[str] | None:
    """Ids that the filters admit, None where they admit all."""
    if not filters.of_techniques:
        return None
    ids = list({hit.id for hits in found for hit in hits})
    return {technique for technique, facts in snapshot.facts(ids).items() if filters.admit(technique, facts)}


def _fused(by_text: Sequence[Hit], by_vector: Sequence[Hit], depth: int, admitted: set[str] | None) -> dict[str, float]:
    # What a full list leaves out is no better than its last; what text search does not find has none of the words.
    floors = [
        by_text[-1].score if len(by_text) == depth else 0.0,
        by_vector[-1].score if by_vector else 0.0,
    ]
    scored = [
        {hit.id: hit.score for hit in hits if admitted is None or hit.id in admitted} for hits in (by_text, by_vector)
    ]
    return convex_combination(scored, floors, [TEXT, VECTOR])


def _in_company(strength: dict[str, float]) -> dict[str, float]:
    papers = [paper_of(technique) for technique in strength]
    best = dict.fromkeys(papers, 0.0)
    for paper, value in zip(papers, strength.values(), strict=True):
        if value > best[paper]:
            best[paper] = value
    return {
        technique: (1 - COMPANY) * value + COMPANY * best[paper]
        for paper, (technique, value) in zip(papers, strength.items(), strict=True)
    }
