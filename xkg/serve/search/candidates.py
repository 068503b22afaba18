"""Finds candidates for a query. Runs BM25 and vector search for the whole query and its parts, fuses the scores, and
computes late interaction (`xkg.embeddings.base`) for the best candidates.

Long queries are split into sentences and clauses. Encoding takes twice as long as all other steps of a search, and
encoding only some parts of a query gives equally good results. Text search always uses the whole query."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial

from xkg.embeddings.base import EncodedText, Passage
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
    """Returns at least `wanted` techniques if the graph contains that many. Searches deeper if the filters exclude too
    many results. Raises any error from `encode`."""
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


LONG_QUERY_WORDS = 18
PART_WORDS = 4
MOST_PARTS = 8
ENCODED_PIECES = 130
"""Maximum number of words and punctuation marks to encode, about 165 tokens. In tests with this limit, a technique was
still among the first rows if the query was its definition, even with words omitted. The same was true if the query
described one technique but also contained a different technique's definition."""

_SENTENCE = re.compile(r"(?<=[.;!?:])\s+")
_CLAUSE = re.compile(r"[,:]\s+(?:(?:and|or|then|but)\s+)?|(?<!\s)\s++(?:and then|then|while|and)\s+")
_PIECE = re.compile(r"\w+|[^\w\s]")


def parts(query: str) -> list[str]:
    """Returns the sentences and clauses in a long query that are long enough to stand alone. The list is empty if the
    query is short or has only one such clause."""
    if len(query.split()) <= LONG_QUERY_WORDS:
        return []
    long_enough = [clause for clause in _clauses(query) if len(clause.split()) >= PART_WORDS]
    return long_enough[:MOST_PARTS] if len(long_enough) > 1 else []


def weightiest(parts: Sequence[str], weight: Callable[[str], float]) -> list[str]:
    """Returns the `parts` to encode, in order. The first part, which may be a name, is always included. Other parts are
    included in order of weight relative to length, as long as they fit."""
    sizes = {part: pieces(part) for part in parts}
    room = ENCODED_PIECES - sum(sizes.values())
    if room >= 0:
        return list(parts)
    weights = {part: weight(part) / sizes[part] ** 0.5 for part in parts[1:]}
    room = ENCODED_PIECES - sizes[parts[0]]
    chosen = {parts[0]}
    for part in sorted(weights, key=lambda part: -weights[part]):
        if sizes[part] <= room:
            room -= sizes[part]
            chosen.add(part)
    return [part for part in parts if part in chosen]


def passage(query: str, parts: Sequence[str], encoded: Sequence[str]) -> str:
    """Returns the text to encode for the whole query. This text consists of the `encoded` parts and as much of the text
    outside `parts` as fits."""
    if not parts:
        return query
    known = set(parts)
    room = ENCODED_PIECES - sum(map(pieces, encoded))
    beside: list[str] = []
    for word in " ".join(clause for clause in _clauses(query) if clause not in known).split():
        room -= pieces(word)
        if room < 0:
            break
        beside.append(word)
    return Passage(query, [*encoded, *([" ".join(beside)] if beside else [])])


def pieces(text: str) -> int:
    """Returns the number of words and punctuation marks. Each word or punctuation mark consists of one or more
    tokens."""
    return len(_PIECE.findall(text))


def _clauses(query: str) -> list[str]:
    clauses = (clause.strip() for sentence in _SENTENCE.split(query) for clause in _CLAUSE.split(sentence))
    return [clause for clause in dict.fromkeys(clauses) if clause]
