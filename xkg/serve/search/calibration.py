"""Calibrated scores: how well a technique fits a query, from 0 to 1, comparable between queries.

Neither search provides such scores: BM25 grows with the length of a query, and the distribution of cosines depends on
the model and the query. The features of a technique are

- the share of the query's words that it has, and how near it is to each of the others (`xkg.embeddings.base`),
- how far its cosine rises above the background of that query's cosines,
- how near the words of its name are to words of the query, on average and at least: "masked language modelling" shares
  a word with a *Discriminator Attribute Model*, but has no word near "discriminator" or "attribute",
- whether the query is a bare term, such as "layer normalization". The words of a described need also occur in other
  techniques, but a term that is not a technique's name is often from another subject.
"""

import math
from collections.abc import Sequence

from xkg.serve.search.candidates import Candidates
from xkg.store.graph_store import Background, Coverage, Snapshot
from xkg.store.indexes.text import word_terms

FITS = 0.55
"""About half of the first rows with this score are right, measured on `evaluation/gold/search/calibration.jsonl`."""

_CONSTANT, _SHARED, _BOTH, _SMALL = -6.06, 8.62, 3.78, 0.41
_NAME_MEAN, _NAME_LEAST, _TERM = 1.92, 4.96, -1.63
"""Logistic regression of whether the graph answers a query, over the 404 queries of
`evaluation/gold/search/calibration.jsonl`. 221 of them have an answer in 22 imported papers. Each was run on all 43
papers, on the 22, and on 10, 4 and 1 of these drawn at random; both outcomes have equal weight. The features of a query
are those of the best of its first five techniques."""

_NEAR = 0.43
_NAME = Coverage(0.3, 0.14)
"""Mean late interaction of the technique that answers a query; the default if no words are known."""

_LARGE = 300
"""Graphs with fewer techniques differ from the graphs on which most queries were fitted."""

_TERM_WORDS = 3


def scores(snapshot: Snapshot, query: str, candidates: Candidates, techniques: Sequence[str]) -> dict[str, float]:
    """Returns the score of each technique."""
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
    """Returns the score of one technique. `shared` is the weight of the query's words that it contains, out of `total`.
    `near` is its mean nearness to the query's words, and `name` is how well the query covers its name. `term` says
    whether the query is a bare term; `techniques` is the size of the graph."""
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
    """Whether a query has only a few words and none of the text search's stop words."""
    words = query.split()
    return len(words) <= _TERM_WORDS and all(map(word_terms, words))


def rise(cosine: float, background: Background) -> float:
    """Returns how far a cosine is above the background. 1 is the expected maximum over this many techniques if cosines
    were normally distributed."""
    if background.deviation <= 0:
        return 0.0
    highest = math.sqrt(2 * math.log(background.techniques + 2))
    return (cosine - background.mean) / background.deviation / highest
