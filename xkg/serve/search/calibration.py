"""Calibrated scores: how well a technique fits a query, in 0..1, comparable between queries.

Neither search gives that: BM25 grows with the length of a query, and cosines are distributed differently for each model
and query. The features of a technique are

- the share of the query's words that it has, and how near it comes to each of the others (`xkg.embeddings.base`),
- how far its cosine rises above the background of that query's cosines,
- how near the words of its name come to words of the query, on average and the least: "masked language modelling" has
  words of a *Discriminator Attribute Model*, but nothing that a discriminator or an attribute is near to,
- whether the query is a bare term, such as "layer normalization". Who describes a need finds words of it in other
  techniques too, but a term that is no technique's name is often of another subject.
"""

import math
from collections.abc import Sequence

from xkg.serve.search.candidates import Candidates
from xkg.store.graph_store import Background, Coverage, Snapshot
from xkg.store.indexes.text import word_terms

FITS = 0.55
"""Half of the first rows with about this score are right, over `evaluation/gold/search/calibration.jsonl`."""

_CONSTANT, _SHARED, _BOTH, _SMALL = -6.06, 8.62, 3.78, 0.41
_NAME_MEAN, _NAME_LEAST, _TERM = 1.92, 4.96, -1.63
"""Logistic regression of whether a query has its answer in the graph, over the 404 queries of
`evaluation/gold/search/calibration.jsonl`, 221 of which have one in 22 imported papers; each on all 43, on the 22, and
on 10, 4 and 1 of these drawn at random, both outcomes counting alike. A query's features are those of the best of its
first five techniques."""

_NEAR = 0.43
_NAME = Coverage(0.3, 0.14)
"""The mean late interaction of the technique that answers a query: assumed where no words are known."""

_LARGE = 300
"""Smaller graphs than this, in techniques, differ from those that most queries were fitted on."""

_TERM_WORDS = 3


def scores(snapshot: Snapshot, query: str, candidates: Candidates, techniques: Sequence[str]) -> dict[str, float]:
    """The score of each technique."""
    background = snapshot.background(candidates.reading.vector)
    matched, total = snapshot.matched(query, techniques)
    names = snapshot.name_coverage(candidates.reading, techniques)
    weakest = min(candidates.cosine.values(), default=background.mean)
    least = min(candidates.interaction.values(), default=_NEAR)
    term = bare_term(query)
    return {
        technique: score(
            rise(candidates.cosine.get(technique, weakest), background),
            matched.get(technique, 0.0),
            total,
            candidates.interaction.get(technique, least),
            names.get(technique, _NAME),
            term,
            background.techniques,
        )
        for technique in techniques
    }


def score(rise: float, shared: float, total: float, near: float, name: Coverage, term: bool, techniques: int) -> float:
    """For a technique that has `shared` of the query's words, which weigh `total`, comes as `near` to each of them, and
    whose name the query covers so far; for a query that is a bare `term` or not, in a graph of so many techniques."""
    coverage = shared / total if total > 0 else 0.0
    odds = (
        _CONSTANT
        + _SHARED * math.log1p(shared) * max(0.0, near)
        + _BOTH * max(0.0, rise) * coverage
        + _SMALL * max(0.0, math.log(_LARGE / max(1, techniques)))
        + _NAME_MEAN * name.mean
        + _NAME_LEAST * name.least
        + _TERM * term
    )
    return 1 / (1 + math.exp(-min(30.0, max(-30.0, odds))))


def bare_term(query: str) -> bool:
    """Whether a query has few words, and none that stands between others (stop words of text search)."""
    words = query.split()
    return len(words) <= _TERM_WORDS and all(map(word_terms, words))


def rise(cosine: float, background: Background) -> float:
    """How far a cosine rises above the background, where 1 is what the highest of as many techniques would by chance,
    were cosines normally distributed."""
    if background.deviation <= 0:
        return 0.0
    highest = math.sqrt(2 * math.log(background.techniques + 2))
    return (cosine - background.mean) / background.deviation / highest
