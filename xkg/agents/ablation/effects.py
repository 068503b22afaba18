"""Computes effects relative to the baseline, with intervals over seeds, and whether they exceed the baseline's noise.

Intervals are Welch's (B. L. Welch, "The generalization of Student's problem when several different population variances
are involved", Biometrika 34, 1947), with degrees of freedom rounded down, which widens them. Multiple comparisons are
adjusted by the method of S. Holm, "A simple sequentially rejective multiple test procedure", 1979."""

import math
from collections.abc import Sequence
from functools import cache
from statistics import fmean, variance

from xkg.value import Value

CRITICAL = 0.05
"""The relative change above which a component is critical, if the change also exceeds the noise."""
SIGNIFICANT = 0.05
"""The significance level, applied to p values adjusted for all comparisons."""


class Effect(Value):
    """`change` is (value − baseline) / |baseline|; `low` and `high` are its 95 % confidence interval, or None if the
    spread is unknown. `once` means that the candidate ran with one seed, so the interval is a prediction interval based
    on the baseline's spread. `exact` means that the baseline repeats exactly, overall or for each seed, so any
    difference is real. `p` is two-sided and applies to this comparison alone."""

    baseline: float
    value: float
    change: float
    low: float | None
    high: float | None
    seeds: int
    p: float | None
    exact: bool = False

    @property
    def once(self) -> bool:
        return self.seeds == 1

    @property
    def beyond_noise(self) -> bool:
        if self.exact:
            return self.change != 0
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    @property
    def nothing_changed(self) -> bool:
        """Whether the baseline is exact and the value equals it, so that the mutation does not change the metric."""
        return self.exact and self.value == self.baseline


def effect(baseline: Sequence[float], values: Sequence[float], pooled: float | None = None) -> Effect:
    """The effect of a candidate with these `values`, one per seed, relative to the baseline. `pooled` is the standard
    deviation to use if neither side has one (a baseline with one run). Raises `ValueError` if values are missing or not
    finite."""
    if not baseline or not values or not all(map(math.isfinite, (*baseline, *values))):
        raise ValueError("an effect needs finite values of baseline and candidate")
    mean, own = (group[0] if len(set(group)) == 1 else fmean(group) for group in (baseline, values))
    scale = abs(mean) or 1.0
    change = (own - mean) / scale
    exact = len(baseline) > 1 and len(set(baseline)) == 1
    low = high = p = None
    spread = _spread(baseline, values, pooled)
    if exact and len(set(values)) == 1:
        low = high = change
        p = 0.0 if change else 1.0
    elif spread is not None:
        error, freedom = spread
        half = t_quantile(0.975, freedom) * error / scale
        low, high = change - half, change + half
        p = 2 * (1 - t_cdf(abs(own - mean) / error, freedom)) if error else (0.0 if change else 1.0)
    return Effect(
        baseline=mean, value=own, change=change, low=low, high=high, seeds=len(values), p=p,
        exact=exact and len(set(values)) == 1,
    )  # fmt: skip


def unchanged(values: Sequence[float]) -> Effect:
    """The effect of a candidate whose value equals the baseline's for each seed."""
    mean = fmean(values)
    return Effect(baseline=mean, value=mean, change=0.0, low=0.0, high=0.0, seeds=len(values), p=1.0, exact=True)


def _spread(baseline: Sequence[float], values: Sequence[float], pooled: float | None) -> tuple[float, int] | None:
    """The standard error of the difference between the means, and its degrees of freedom, rounded down."""
    n, m = len(baseline), len(values)
    if n > 1 and m > 1:
        a, b = variance(baseline) / n, variance(values) / m
        if a + b == 0:
            return 0.0, n + m - 2
        share = a / (a + b)  # the squares of tiny variances would be 0
        freedom = 1 / (share**2 / (n - 1) + (1 - share) ** 2 / (m - 1))
        return math.sqrt(a + b), max(1, math.floor(freedom + 1e-9))
    if n > 1 or m > 1:
        several = baseline if n > 1 else values
        return math.sqrt(variance(several) * (1 / n + 1 / m)), len(several) - 1
    if pooled is not None:
        return pooled * math.sqrt(1 / n + 1 / m), 1
    return None


def relative_noise(values: Sequence[float]) -> float | None:
    """The standard deviation of repeated runs relative to their mean; None for a single run."""
    if len(values) < 2:
        return None
    return math.sqrt(variance(values)) / (abs(fmean(values)) or 1.0)


def pooled_deviation(groups: Sequence[Sequence[float]]) -> float | None:
    """The pooled standard deviation within groups of repeated runs; None if no group has two runs."""
    several = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in several)
    return math.sqrt(sum(variance(g) * (len(g) - 1) for g in several) / freedom) if freedom else None


def holm(p: Sequence[float | None]) -> list[float | None]:
    """The p values adjusted for multiple comparisons (family-wise error); None stays None."""
    known = sorted((value, i) for i, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    largest = 0.0
    for rank, (value, i) in enumerate(known):
        largest = max(largest, min(1.0, value * (len(known) - rank)))
        adjusted[i] = largest
    return adjusted


def t_cdf(t: float, freedom: int) -> float:
    """The CDF of Student's distribution for integer degrees of freedom: the finite series 26.7.3 and 26.7.4 in
    Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964."""
    theta = math.atan(t / math.sqrt(freedom))
    cosine2 = math.cos(theta) ** 2
    term, total = 1.0, 1.0
    if freedom % 2:
        for k in range(2, freedom - 1, 2):
            term *= cosine2 * k / (k + 1)
            total += term
        inner = math.sin(theta) * math.cos(theta) * total if freedom > 1 else 0.0
        within = 2 / math.pi * (theta + inner)
    else:
        for k in range(1, freedom - 2, 2):
            term *= cosine2 * k / (k + 1)
            total += term
        within = math.sin(theta) * total
    return min(1.0, max(0.0, 0.5 + within / 2))


@cache
def t_quantile(p: float, freedom: int) -> float:
    """The quantile of Student's distribution at `p` > 0.5."""
    low, high = 0.0, 1.0
    while t_cdf(high, freedom) < p:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, freedom) < p else (low, middle)
    return (low + high) / 2
