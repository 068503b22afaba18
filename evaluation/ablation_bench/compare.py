"""Compares two runs paper by paper: a paired t-test, the size of the difference and its interval by bootstrap."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

RESAMPLES = 9_999


@dataclass(frozen=True)
class Comparison:
    """`difference` is the mean of this run less that of the other over the `papers` that both have, `low` and `high`
    its 95 % interval by bootstrap over papers (percentiles), `effect` Cohen's d of the paired differences, `p` the
    two-sided probability of a paired t-test; None where too few papers, or no spread, allow none."""

    papers: int
    difference: float
    low: float | None
    high: float | None
    effect: float | None
    p: float | None


def compare(scores: Mapping[str, float], other: Mapping[str, float]) -> Comparison:
    """The scores of two runs by paper."""
    common = sorted(scores.keys() & other.keys())
    a, b = np.array([scores[c] for c in common]), np.array([other[c] for c in common])
    differences = a - b
    mean = float(differences.mean()) if common else 0.0
    spread = float(differences.std(ddof=1)) if len(common) > 1 else 0.0
    if spread <= 1e-12:
        return Comparison(len(common), mean, None, None, None, None)
    chance = np.random.default_rng(0)
    resampled = stats.bootstrap(
        (differences,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=chance
    ).confidence_interval
    p = float(stats.ttest_rel(a, b).pvalue)
    return Comparison(len(common), mean, float(resampled.low), float(resampled.high), mean / spread, p)
