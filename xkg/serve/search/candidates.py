"""Finds candidates for a query: BM25 and vector search over the whole query and its parts, fused by score, and late
interaction (`xkg.embeddings.base`) for the best candidates."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial

from xkg.embeddings.base import EncodedText
from xkg.serve.search.clauses import parts, passage, weightiest
from xkg.serve.search.filters import Filters
from xkg.serve.search.strengths import Strengths
from xkg.store.graph_store import Hit, Snapshot

DEPTH = 100
DEEPEST = 10_000
MANY_PAPERS = 10_000
"""From this number of techniques on, text search takes as long as encoding a query, so it runs in parallel with
encoding."""

_THREADS = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2), thread_name_prefix="xkg-text-search")

Encode = Callable[[Sequence[str]], Sequence[EncodedText]]
"""Encodes texts with a model."""


@dataclass(frozen=True)
class Candidates:
    """`strength` is the fused strength of each technique, from 0 to 1 within this query. `cosine` contains the cosines
    between the whole query and the nearest techniques, which vector search returned. `interaction` is the late
    interaction between the best techniques and the whole query. `reading` is the encoded query. `needs` contains the
    strengths for each part of a long query alone."""

    strength: dict[str, float]
    needs: Sequence[dict[str, float]]
    cosine: dict[str, float]
    interaction: Mapping[str, float]
    reading: EncodedText


def candidates(
    snapshot: Snapshot, encode: Encode, query: str, filters: Filters, papers: Sequence[str], wanted: int
) -> Candidates:
    """Returns at least `wanted` techniques if the graph has that many. If filters leave too few, the searches go
    deeper. Raises any error from `encode`."""
    clauses = parts(query)
    encoded_clauses = weightiest(clauses, lambda clause: snapshot.matched(clause, ())[1])
    texts = [query, *encoded_clauses]
    encoded: Sequence[EncodedText] = ()
    depth = max(DEPTH, wanted)
    while True:
        search = partial(_by_text, snapshot, texts, depth, papers)
        beside = _THREADS.submit(search) if snapshot.paper_count() >= MANY_PAPERS else None
        try:
            encoded = encoded or encode([passage(query, clauses, encoded_clauses), *encoded_clauses])
            by_vector = [snapshot.find_vector(reading.vector, depth, papers) for reading in encoded]
        finally:
            wait([beside] if beside is not None else [])  # it reads the snapshot, which may be closed after an error
        by_text = search() if beside is None else beside.result()
        admitted = _admitted(snapshot, filters, [*by_text, *by_vector])
        exhausted = max(map(len, by_vector), default=0) < depth
        if admitted is None or len(admitted) >= wanted or exhausted or depth >= DEEPEST:
            break
        depth *= 10
    strengths = Strengths(by_text, by_vector, depth, admitted)
    strongest = strengths.strongest()
    near = [snapshot.interaction(reading, ids) for reading, ids in zip(encoded, strongest, strict=True)]
    for text, (ids, nearness) in enumerate(zip(strongest, near, strict=True)):
        strengths.interact(text, ids, nearness)
    strength, needs = strengths.together()
    return Candidates(
        strength=strength, needs=needs, cosine=dict(by_vector[0]), interaction=near[0], reading=encoded[0]
    )


def _by_text(snapshot: Snapshot, texts: Sequence[str], depth: int, papers: Sequence[str]) -> list[Sequence[Hit]]:
    return [snapshot.find_text(text, depth, papers) for text in texts]


def _admitted(snapshot: Snapshot, filters: Filters, hit_lists: Sequence[Sequence[Hit]]) -> set[str] | None:
    """Returns the ids that pass the filters; None if all pass."""
    if not filters.of_techniques:
        return None
    ids = list({hit.id for hits in hit_lists for hit in hits})
    return {technique for technique, facts in snapshot.facts(ids).items() if filters.admit(technique, facts)}
