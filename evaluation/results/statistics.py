"""Computes intervals for means, and compares two runs item by item.

Items from the same paper are not independent, so the statistical units are papers. The part of an item's id before '#'
is the paper's id. Intervals are percentiles of the bootstrap over whole papers (Efron and Tibshirani, "An Introduction
to the Bootstrap", 1993, chapter 13). In a comparison,

- `p_permutation`: the sign of each paper's summed difference is flipped at random (Fisher's randomisation test: exact
  up to 2^13 sign patterns, sampled above),
- `p_t`: Student's paired t-test on the papers' mean differences, for comparison with publications that report it,
- `effect`: Cohen's d for paired samples (Cohen 1988, d_z): the mean of the papers' mean differences in units of their
  standard deviation.
"""

import warnings
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from xkg.model import paper_of
from xkg.value import Value

DRAWS = 10_000
SEED = 20_251_020
CONFIDENCE = 0.95
_MOST_PATTERNS = 2**13

Bounds = tuple[float | None, float | None]


def interval(scores: Mapping[str, float], group_of: Callable[[str], str] = paper_of) -> Bounds:
    """Returns the 95% interval for the mean over items, resampling whole groups with replacement. Returns (None, None)
    for fewer than two groups, because a single group does not allow generalisation. The same scores always yield the
    same interval."""
    sums, counts = _by_group(scores, group_of)
    if len(sums) < 2:
        return None, None
    drawn = np.random.default_rng(SEED).integers(len(sums), size=(DRAWS, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def share_interval(scores: Mapping[str, float]) -> Bounds:
    """Returns the 95% interval for scores from 0 to 1. If all scores are 0 or all are 1, resampling would show no
    spread. In this case, returns the exact interval by Clopper and Pearson (1934), with each paper as one trial."""
    low, high = interval(scores)
    if low is None or low != high or low not in (0.0, 1.0):
        return low, high
    papers = len({paper_of(item) for item in scores})
    exact = stats.binomtest(round(low * papers), papers).proportion_ci(CONFIDENCE)
    return float(exact.low), float(exact.high)


class Comparison(Value):
    """Compares one score between two runs. `items` and `papers` count the items and papers measured in both runs.
    `only_before` and `only_now` count the items measured in only one of the runs. `before`, `now` and `difference` are
    means over the common items. A value is None if there are too few scores or all scores are equal."""

    score: str
    items: int
    papers: int
    only_before: int
    only_now: int
    before: float | None = None
    now: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    effect: float | None = None
    p_permutation: float | None = None
    p_t: float | None = None


def paired(
    score: str, before: Mapping[str, float], now: Mapping[str, float], group_of: Callable[[str], str] = paper_of
) -> Comparison:
    both = sorted(before.keys() & now.keys())
    differences = {item: now[item] - before[item] for item in both}
    sums, counts = _by_group(differences, group_of)
    sizes = {"only_before": len(before) - len(both), "only_now": len(now) - len(both)}
    if not both:
        return Comparison(score=score, items=0, papers=0, **sizes)
    low, high = interval(differences, group_of)
    means = sums / counts
    spread = float(means.std(ddof=1)) if len(means) > 1 else 0.0
    return Comparison(
        score=score,
        items=len(both),
        papers=len(sums),
        **sizes,
        before=float(np.mean([before[item] for item in both])),
        now=float(np.mean([now[item] for item in both])),
        difference=float(np.mean(list(differences.values()))),
        low=low,
        high=high,
        effect=float(means.mean()) / spread if spread > 1e-12 else None,
        p_permutation=_permutation(sums) if len(sums) > 1 else None,
        p_t=_t_test(means) if spread > 1e-12 else None,
    )


def _by_group(
    scores: Mapping[str, float], group_of: Callable[[str], str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the sum and the number of scores for each group, in item order."""
    groups: dict[str, list[float]] = {}
    for item in sorted(scores):
        groups.setdefault(group_of(item), []).append(scores[item])
    return np.array([np.sum(group) for group in groups.values()]), np.array([len(g) for g in groups.values()], float)


def _permutation(sums: NDArray[np.float64]) -> float:
    result = stats.permutation_test(
        (sums, np.zeros_like(sums)),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=_MOST_PATTERNS,
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)


def _t_test(means: NDArray[np.float64]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # results for nearly equal differences are still valid
        return float(stats.ttest_1samp(means, 0.0).pvalue)
