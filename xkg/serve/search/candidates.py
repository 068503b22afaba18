"""Finds candidates for a query. Runs BM25 and vector search for the whole query and its parts, fuses the scores, and
computes late interaction (`xkg.embeddings.base`) for the best candidates."""

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
"""Minimum number of papers for which text search runs in parallel with encoding the query, because text search then
takes about as long as encoding."""

_THREADS = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2), thread_name_prefix="xkg-text-search")

Encode = Callable[[Sequence[str]], Sequence[EncodedText]]
"""Encodes texts with the embedding model."""


@dataclass(frozen=True)
class Candidates:
    """The candidates for a query.

    - `strength`: each technique's fused strength, from 0 to 1 within this query
    - `needs`: the strengths for each part of a long query alone
    - `cosine`: the cosines between the whole query and its nearest techniques, from vector search
    - `interaction`: the late interaction between the whole query and the best techniques
    - `reading`: the encoded query"""

    strength: dict[str, float]
    needs: Sequence[dict[str, float]]
    cosine: dict[str, float]
    interaction: Mapping[str, float]
    reading: EncodedText


def candidates(
    snapshot: Snapshot, encode: Encode, query: str, filters: Filters, papers: Sequence[str], wanted: int
) -> Candidates:
    """Returns at least `wanted` techniques, if the graph has that many. If the filters exclude too many results,
    searches deeper. Raises any error from `encode`."""
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
            # The text search uses the snapshot, which may be closed after an error.
            wait([beside] if beside is not None else [])
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
    """Returns the ids that pass the filters, or None if there are no filters on techniques."""
    if not filters.of_techniques:
        return None
    ids = list({hit.id for hits in hit_lists for hit in hits})
    return {technique for technique, facts in snapshot.facts(ids).items() if filters.admit(technique, facts)}
