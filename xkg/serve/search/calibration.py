"""Calibrated scores: how well a technique fits a query, in 0..1, comparable between queries.

Neither search gives that: BM25 grows with the length of a query, and cosines are distributed differently for each model
and query. The features are the share of the query's words that the technique has, how near it comes to each of the
others (`xkg.embeddings.base`), and how far its cosine rises above the background of that query's cosines.
"""

import math
from collections.abc import Sequence

from xkg.serve.search.candidates import Candidates
from xkg.store.graph_store import Background, Snapshot

FITS = 0.5
EXAMINED = 5
"""Nothing fits where none of so many strongest candidates reaches `FITS`."""

_CONSTANT, _SHARED, _BOTH, _SMALL = -3.21, 7.93, 4.21, 0.3
"""Logistic regression of whether a query has its answer in the graph, over 202 queries written by hand (paraphrases,
short ones, tasks) for 43 imported papers, each with the papers of its answer there and taken out, and over 126 requests
that none of the papers answers; each on all papers, and on 15, 5 and 1 of them drawn at random. A query's features are
those of the best of its first five techniques. Set so that 3 % of the queries with an answer are lost."""

_NEAR = 0.43
"""The mean late interaction of the best technique of a query that has an answer: assumed where no words are known."""

_LARGE = 300
"""Smaller graphs than this, in techniques, differ from those that the coefficients were fitted on."""


def scores(snapshot: Snapshot, query: str, candidates: Candidates, techniques: Sequence[str]) -> dict[str, float]:
    """The score of each technique."""
    background = snapshot.background(candidates.reading.vector)
    matched, total = snapshot.matched(query, techniques)
    weakest = min(candidates.cosine.values(), default=background.mean)
    least = min(candidates.interaction.values(), default=_NEAR)
    return {
        technique: score(
            rise(candidates.cosine.get(technique, weakest), background),
            matched.get(technique, 0.0),
            total,
            candidates.interaction.get(technique, least),
            background.techniques,
        )
        for technique in techniques
    }


def score(rise: float, shared: float, total: float, near: float, techniques: int) -> float:
    """For a technique that has `shared` of the query's words, which weigh `total`, and comes as `near` to each of them,
    in a graph of so many techniques."""
    coverage = shared / total if total > 0 else 0.0
    odds = (
        _CONSTANT
        + _SHARED * math.log1p(shared) * max(0.0, near)
        + _BOTH * max(0.0, rise) * coverage
        + _SMALL * max(0.0, math.log(_LARGE / max(1, techniques)))
    )
    return 1 / (1 + math.exp(-min(30.0, odds)))


def rise(cosine: float, background: Background) -> float:
    """How far a cosine rises above the background, where 1 is what the highest of as many techniques would by chance,
    were cosines normally distributed."""
    if background.deviation <= 0:
        return 0.0
    highest = math.sqrt(2 * math.log(background.techniques + 2))
    return (cosine - background.mean) / background.deviation / highest
