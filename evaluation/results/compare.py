"""Compares a run with an earlier one, item by item.

The same items in both runs are paired. Items of one paper depend on one another, so papers are the units: the
difference is the mean over items, its interval draws whole papers (`intervals.py`), and both tests are over papers.

- `p_permutation`: the sign of each paper's summed difference is flipped at random (Fisher's randomisation test: exact
  up to 2^13 sign patterns, sampled above).
- `p_t`: Student's paired t-test on the papers' mean differences, for comparison with publications that report it.
- `effect`: Cohen's d for paired samples (Cohen 1988, d_z): the mean of the papers' mean differences in units of their
  standard deviation.
"""

import math
import warnings
from collections.abc import Callable, Mapping

import numpy as np
from scipy import stats

from evaluation.results.document import Results
from evaluation.results.intervals import SEED, by_group, interval
from xkg.model import paper_of
from xkg.value import Value

_MOST_PATTERNS = 2**13


class Comparison(Value):
    """`items` and `papers` were measured in both runs; `only_before` and `only_now` items in one. `before`, `now` and
    `difference` are means over the common items. Values that cannot be computed, because there are too few or all are
    equal, are None."""

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


def compare(earlier: Results, now: Results) -> list[Comparison]:
    """One row for each score that both runs have, in the order of the later run."""
    return [paired(name, earlier.scores[name], now.scores[name]) for name in now.scores if name in earlier.scores]


def paired(
    score: str,
    before: Mapping[str, float],
    now: Mapping[str, float],
    group_of: Callable[[str], str] = paper_of,
) -> Comparison:
    """The comparison of one score of two runs."""
    both = sorted(before.keys() & now.keys())
    differences = {item: now[item] - before[item] for item in both}
    groups = by_group(differences, group_of)
    sizes = {"only_before": len(before) - len(both), "only_now": len(now) - len(both)}
    if not both:
        return Comparison(score=score, items=0, papers=0, **sizes)
    low, high = interval(differences, group_of)
    sums = np.array([math.fsum(group) for group in groups.values()])
    means = np.array([math.fsum(group) / len(group) for group in groups.values()])
    return Comparison(
        score=score,
        items=len(both),
        papers=len(groups),
        **sizes,
        before=math.fsum(before[item] for item in both) / len(both),
        now=math.fsum(now[item] for item in both) / len(both),
        difference=math.fsum(differences.values()) / len(both),
        low=low,
        high=high,
        effect=_effect(means),
        p_permutation=_permutation(sums),
        p_t=_t_test(means),
    )


def _effect(means: np.ndarray) -> float | None:
    spread = float(means.std(ddof=1)) if len(means) > 1 else 0.0
    return float(means.mean()) / spread if spread > 1e-12 else None


def _permutation(sums: np.ndarray) -> float | None:
    if len(sums) < 2:
        return None
    result = stats.permutation_test(
        (sums, np.zeros_like(sums)),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=_MOST_PATTERNS,
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)


def _t_test(means: np.ndarray) -> float | None:
    if len(means) < 2 or float(means.std(ddof=1)) <= 1e-12:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nearly equal differences: the value is still defined
        return float(stats.ttest_1samp(means, 0.0).pvalue)
