"""Computes calibrated scores, from 0 to 1, for how well a technique fits a query. Unlike the scores of text search and
vector search, they are comparable between queries.

BM25 scores grow with the length of the query, and the distribution of cosines depends on the model and the query. A
technique's features are:

- the fraction of the query's words that the technique contains, and how similar the technique is to the
  other words (`xkg.embeddings.base`)
- how far the technique's cosine is above the background of the query's cosines
- how similar the words in its name are to words in the query, as a mean and as a minimum. For example, "masked language
  modelling" shares a word with a *Discriminator Attribute Model*, but has no word similar to "discriminator" or
  "attribute"
- whether the query is a bare term, such as "layer normalization". The words of a longer description also occur in other
  techniques, but a term that is not a technique's name is often from an unrelated subject"""

import math
from collections.abc import Sequence

from xkg.serve.search.candidates import Candidates
from xkg.store.graph_store import Background, Coverage, Snapshot
from xkg.store.indexes.text import word_terms

FITS = 0.55
"""Minimum score of a row. About half of the top results with this score are correct, according to
`evaluation/gold/search/calibration.jsonl`."""

_CONSTANT, _SHARED, _BOTH, _SMALL = -6.06, 8.62, 3.78, 0.41
_NAME_MEAN, _NAME_LEAST, _TERM = 1.92, 4.96, -1.63
"""Coefficients of the logistic regression that predicts whether the graph answers a query. The model was fitted on the
404 queries in `evaluation/gold/search/calibration.jsonl`, 221 of which have an answer in 22 imported papers. Each query
was run on all 43 papers, on the 22 papers with answers, and on random samples of 10, 4 and 1 papers. Both outcomes have
equal weight. The features of a query are those of the best of its first five techniques."""

_NEAR = 0.43
_NAME = Coverage(0.3, 0.14)
"""Mean late interaction between a query and the technique that answers it. The default if none of a query's words are
known."""

_LARGE = 300
"""Scores are adjusted in graphs with fewer techniques, because most queries were fitted on larger graphs."""

_TERM_WORDS = 3


def scores(snapshot: Snapshot, query: str, candidates: Candidates, techniques: Sequence[str]) -> dict[str, float]:
    """Returns the techniques' scores, keyed by id."""
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
    """Returns a technique's score. `shared` is the weight of the query's words that occur in the technique, and `total`
    is the weight of all of the query's words. `near` is the technique's mean similarity to the query's words, and
    `name` is how well the query covers the technique's name. `term` is true if the query is a bare term. `techniques`
    is the number of techniques in the graph."""
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
    """Returns whether a query has only a few words, none of which are stop words in text search."""
    words = query.split()
    return len(words) <= _TERM_WORDS and all(map(word_terms, words))


def rise(cosine: float, background: Background) -> float:
    """Returns how far a cosine is above the background. 1 is the expected maximum over this many techniques if cosines
    are normally distributed."""
    if background.deviation <= 0:
        return 0.0
    highest = math.sqrt(2 * math.log(background.techniques + 2))
    return (cosine - background.mean) / background.deviation / highest
