"""Computes effects relative to the baseline, and tests whether they could be due to chance.

The tests are non-parametric, because a few runs may differ widely from the rest. Two groups of runs are compared with
the exact rank-sum test (H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is stochastically
larger than the other", 1947). Significance requires at least four runs in each group. The effect size is the
Hodges-Lehmann shift with its confidence interval (J. L. Hodges, E. L. Lehmann, "Estimates of location based on rank
tests", 1963). Comparisons are adjusted so that at most 5% of claims are expected to be false (Y. Benjamini, Y.
Hochberg, "Controlling the false discovery rate", 1995)."""

import math
from collections.abc import Sequence
from functools import cache
from statistics import fmean, median, variance

from xkg.value import Value

CRITICAL = 0.05
"""A component is critical if its relative change exceeds this value and the noise."""
SIGNIFICANT = 0.05
"""The significance level, which is also the maximum expected fraction of false claims."""


class Effect(Value):
    """Compares `runs` baseline runs with `seeds` candidate runs. `baseline` and `value` are the means of the two
    groups. For a single candidate run, `baseline` is the value of the baseline run with the same seed. `change` is the
    shift relative to |baseline|. `low` and `high` are the bounds of its 95% confidence interval, or None if there are
    too few runs. `p` is the two-sided p-value before adjusting for other comparisons, or None if the baseline's spread
    is unknown. `equal` means that each run yielded the same value as the baseline run with the same seed."""

    baseline: float
    value: float
    change: float
    low: float | None
    high: float | None
    seeds: int
    runs: int
    p: float | None
    equal: bool = False

    @property
    def undecidable(self) -> bool:
        """Returns whether there are too few runs for a significant result."""
        return _tail(self.runs, self.seeds, 0) > SIGNIFICANT


def effect(baseline: Sequence[float], values: Sequence[float]) -> Effect:
    """Returns a candidate's effect relative to the baseline, given its `values` (one per seed). Raises `ValueError` if
    values are missing or not finite."""
    if not baseline or not values or not all(map(math.isfinite, (*baseline, *values))):
        raise ValueError("an effect needs finite values for the baseline and the candidate")
    n, m, scale = len(baseline), len(values), abs(_mean(baseline)) or 1.0
    shifts = sorted((value - one) / scale for one in baseline for value in values)
    # A tie counts against a difference in either direction.
    u = min(sum(shift <= 0 for shift in shifts), sum(shift >= 0 for shift in shifts))
    cut = sum(_tail(n, m, k) <= SIGNIFICANT for k in range(n * m // 2))
    return Effect(
        baseline=_mean(baseline), value=_mean(values), change=median(shifts), seeds=m, runs=n,
        low=shifts[cut - 1] if cut else None, high=shifts[-cut] if cut else None,
        p=min(1.0, _tail(n, m, u)) if n > 1 else None,
    )  # fmt: skip


def effect_of_one(baseline: Sequence[float], same: float, value: float) -> Effect:
    """Returns the effect of a candidate that ran once. The change is relative to `same`, the value of the baseline run
    with the same seed. The p-value compares `value` with all values of the baseline."""
    shift = (value - same) / (abs(same) or 1.0)
    known = {"baseline": same, "change": shift, "low": None, "high": None}
    return effect(baseline, [value]).model_copy(update=known)


def _mean(values: Sequence[float]) -> float:
    """Returns the mean. If all values are equal, returns exactly that value, without rounding errors."""
    return values[0] if len(set(values)) == 1 else fmean(values)


def unchanged(values: Sequence[float]) -> Effect:
    """Returns the effect of a candidate that yielded the baseline's value for each seed."""
    known = {"equal": True, "p": 1.0, "change": 0.0, "low": None, "high": None}
    return effect(values, values).model_copy(update=known)


def outside(baseline: Sequence[float], value: float) -> bool:
    return not min(baseline) <= value <= max(baseline)


def _tail(n: int, m: int, u: int) -> float:
    """Returns the probability that the smaller rank-sum statistic is at most `u` if `n` and `m` runs come from the same
    distribution. The result exceeds 1 for large values of `u`."""
    return 2 * sum(_orders(n, m, k) for k in range(u + 1)) / math.comb(n + m, n)


@cache
def _orders(n: int, m: int, u: int) -> int:
    """Returns the number of orderings of `n` and `m` runs with exactly `u` reversed pairs."""
    if u < 0 or not n or not m:
        return int(u == 0)
    return _orders(n - 1, m, u - m) + _orders(n, m - 1, u)


def relative_noise(values: Sequence[float]) -> float | None:
    """Returns the standard deviation of repeated runs relative to their mean, or None for a single run."""
    if len(values) < 2:
        return None
    return math.sqrt(variance(values)) / (abs(fmean(values)) or 1.0)


def adjusted(p: Sequence[float | None]) -> list[float | None]:
    """Returns p-values adjusted for multiple comparisons. Unknown p-values stay None."""
    known = sorted(((value, i) for i, value in enumerate(p) if value is not None), reverse=True)
    found: list[float | None] = [None] * len(p)
    smallest = 1.0
    for rank, (value, i) in zip(range(len(known), 0, -1), known, strict=True):
        smallest = found[i] = min(smallest, value * len(known) / rank)
    return found
