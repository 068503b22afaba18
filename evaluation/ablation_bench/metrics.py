"""Computes metrics for an ablation plan for one paper. The benchmark reports means over papers (macro averages).

`author_scores` uses the definitions from the paper (arXiv 2507.08038): an entry that matches several gold ablations
counts once, and nDCG is computed over the plan. `program_scores` follows the benchmark's own program, which produced
its leaderboard. The program's precision counts gold ablations instead of plan entries, and its nDCG is computed over
the gold ablations, in their own order. Apart from nDCG, the two functions agree if each entry matches at most one gold
ablation. For the reviewer task, the paper and the program define the same scores."""

import math
from collections.abc import Mapping, Sequence

MOST_K = 10

Scores = dict[str, float]
"""Scores from 0 to 1: `precision`, `recall` and `f1`. The author task also has `ndcg`, because it knows the order of
entries."""


def author_scores(plan: Sequence[str], golds: Sequence[str], matches: Mapping[str, Sequence[str]], k: int) -> Scores:
    """Scores the first `k` entries in a plan (names, best first). `matches` contains, for each gold ablation, the
    entries that jointly match it. A gold ablation counts as found if all of these entries are among the first `k`.
    Unknown gold ablations and entries are ignored. Precision is the number of distinct matched entries divided by the
    number of entries. Recall is the share of gold ablations found."""
    shown = list(dict.fromkeys(plan))[:k]
    known = set(shown)
    found = [matches[gold] for gold in dict.fromkeys(golds) if matches.get(gold) and known.issuperset(matches[gold])]
    matched = {name for names in found for name in names}
    scores = _scores(len(matched), len(shown), len(found), len(set(golds)))
    return scores | {"ndcg": ndcg([name in matched for name in shown], len(set(golds)))}


def program_scores(plan: Sequence[str], golds: Sequence[str], matches: Mapping[str, Sequence[str]], k: int) -> Scores:
    """Scores the first `k` entries in a plan as the benchmark's program does. Precision is the number of gold ablations
    found, divided by that number plus the number of shown entries without a match. nDCG covers only as many gold
    ablations as there are shown entries."""
    shown = list(dict.fromkeys(plan))[:k]
    found = [bool(matches.get(gold)) and set(matches[gold]) <= set(shown) for gold in dict.fromkeys(golds)]
    unmatched = set(shown).difference(*matches.values())
    first = found[: len(shown)]
    scores = _scores(sum(found), sum(found) + len(unmatched), sum(found), len(found))
    return scores | {"ndcg": ndcg(first, len(first))}


def reviewer_scores(right: Sequence[bool], suggestions: int, k: int) -> Scores:
    """Scores the first `k` entries in a plan. `right` marks the entries that a review suggests. `suggestions` is the
    number of ablations that the reviews suggest."""
    shown = right[:k]
    return _scores(sum(shown), len(shown), min(sum(shown), suggestions), suggestions)


def _scores(right: int, shown: int, found: int, wanted: int) -> Scores:
    precision, recall = right / shown if shown else 0.0, found / wanted if wanted else 0.0
    both = precision + recall
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / both if both else 0.0}


def ndcg(right: Sequence[bool], relevant: int) -> float:
    """Returns the normalised discounted cumulative gain of a ranking with binary gains (Järvelin and Kekäläinen, 2002).
    The ideal ranking begins with all relevant entries, or with all right entries if there are more of them."""
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(right), max(relevant, sum(right))) + 1))
    gained = sum(1 / math.log2(rank + 1) for rank, hit in enumerate(right, start=1) if hit)
    return gained / ideal if ideal else 0.0
