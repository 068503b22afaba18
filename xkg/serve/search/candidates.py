"""Candidates for a query: BM25 and vector search over the whole query and over its parts, fused by score, and late
interaction (`xkg.embeddings.base`) for the best of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import nlargest

from xkg.embeddings.base import EncodedText
from xkg.fusion import convex_combination
from xkg.model import paper_of
from xkg.serve.background import beside
from xkg.serve.search.clauses import parts, passage, weightiest
from xkg.serve.search.filters import Filters
from xkg.store.graph_store import Hit, Snapshot

DEPTH = 100
DEEPEST = 10_000
MANY_PAPERS = 10_000
"""From so many on text search takes as long as encoding a query, and runs beside it."""

TEXT, VECTOR = 0.5, 0.5
"""Weights of the two searches."""

INTERACTION, INTERACTING = 0.5, 50
"""Weight of late interaction beside both searches together, and the number of techniques that get it."""

PARTS = 0.5
"""Weight of the part of a long query that fits best, beside the whole."""

COMPANY = 0.3
"""Weight of the best technique of the same paper: several steps of one query belong to one subject."""

Encode = Callable[[Sequence[str]], Sequence[EncodedText]]
"""Encodes texts with a model."""


@dataclass(frozen=True)
class Candidates:
    """The fused strength of each technique, in 0..1 within this query; its cosine to the whole query, or an upper bound
    where vector search did not return it; the late interaction of the best ones with the whole query; and the encoded
    query. `needs` are strengths for each part of a long query alone."""

    strength: dict[str, float]
    needs: Sequence[dict[str, float]]
    cosine: dict[str, float]
    interaction: Mapping[str, float]
    reading: EncodedText


def candidates(
    snapshot: Snapshot, encode: Encode, query: str, filters: Filters, papers: Sequence[str], wanted: int
) -> Candidates:
    """At least `wanted` techniques if the graph has as many: where filters leave too few, the searches go deeper.
    Raises what `encode` raises."""
    clauses = parts(query)
    encoded_clauses = weightiest(clauses, lambda clause: snapshot.matched(clause, ())[1])
    texts = [query, *encoded_clauses]
    encoded: Sequence[EncodedText] = ()
    depth = max(DEPTH, wanted)
    while True:
        search = partial(_by_text, snapshot, texts, depth, papers)
        with beside(search, worthwhile=snapshot.paper_count() >= MANY_PAPERS) as text_hits:
            encoded = encoded or encode([passage(query, clauses, encoded_clauses), *encoded_clauses])
            by_vector = [snapshot.find_vector(reading.vector, depth, papers) for reading in encoded]
            by_text = text_hits()
        admitted = _admitted(snapshot, filters, [*by_text, *by_vector])
        exhausted = max(map(len, by_vector), default=0) < depth
        if admitted is None or len(admitted) >= wanted or exhausted or depth >= DEEPEST:
            break
        depth *= 10
    searched = [_fused(text, vector, depth, admitted) for text, vector in zip(by_text, by_vector, strict=True)]
    strongest = [nlargest(INTERACTING, strengths, key=strengths.__getitem__) for strengths in searched]
    near = [snapshot.interaction(reading, ids) for reading, ids in zip(encoded, strongest, strict=True)]
    fused = list(map(_interacting, searched, strongest, near))
    whole, rest = fused[0], fused[1:]
    strength = dict(whole)
    if rest:
        best: dict[str, float] = {}
        for part in rest:
            for technique, value in part.items():
                if value > best.get(technique, -1.0):
                    best[technique] = value
        for technique in whole | best:
            strength[technique] = (1 - PARTS) * whole.get(technique, 0.0) + PARTS * best.get(technique, 0.0)
    cosines = {hit.id: hit.score for hit in by_vector[0]}
    weakest = min(cosines.values(), default=0.0)  # what vector search did not return is no closer than this
    return Candidates(
        strength=_in_company(strength),
        needs=[_in_company(part) for part in rest],
        cosine={t: cosines.get(t, weakest) for t in strength},
        interaction=near[0],
        reading=encoded[0],
    )


def _by_text(snapshot: Snapshot, texts: Sequence[str], depth: int, papers: Sequence[str]) -> list[Sequence[Hit]]:
    return [snapshot.find_text(text, depth, papers) for text in texts]


def _admitted(snapshot: Snapshot, filters: Filters, hit_lists: Sequence[Sequence[Hit]]) -> set[str] | None:
    """Ids that the filters admit, None where they admit all."""
    if not filters.of_techniques:
        return None
    ids = list({hit.id for hits in hit_lists for hit in hits})
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


def _interacting(
    strength: dict[str, float], best: Collection[str], interaction: Mapping[str, float]
) -> dict[str, float]:
    """Strengths with late interaction, which was computed for the `best`: its lowest value counts 0, as do all other
    techniques. One of the best without a value keeps its strength."""
    if not interaction:
        return strength
    least = min(interaction.values())
    spread = max(interaction.values()) - least
    nearness = {technique: strength[technique] for technique in best}
    nearness |= {technique: (value - least) / spread if spread > 0 else 1.0 for technique, value in interaction.items()}
    return {
        technique: (1 - INTERACTION) * value + INTERACTION * nearness.get(technique, 0.0)
        for technique, value in strength.items()
    }


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
