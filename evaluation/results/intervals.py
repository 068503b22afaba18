"""Intervals of means by the bootstrap (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13).

Items of one paper depend on one another, so whole papers are drawn: an item's id starts with its paper's, up to '#'."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from xkg.model import paper_of

DRAWS = 10_000
SEED = 20_251_020
CONFIDENCE = 0.95

_MOST_AT_ONCE = 4_000_000


def by_group(scores: Mapping[str, float], group_of: Callable[[str], str] = paper_of) -> dict[str, list[float]]:
    """Scores by the group of their item, groups and scores in the order of their names."""
    groups: dict[str, list[float]] = {}
    for item in sorted(scores):
        groups.setdefault(group_of(item), []).append(scores[item])
    return groups


def interval(
    scores: Mapping[str, float], group_of: Callable[[str], str] = paper_of
) -> tuple[float | None, float | None]:
    """The 95 % percentile interval of the mean over items, drawing whole groups with replacement; (None, None) for
    fewer than two groups, which do not allow generalisation. The same scores give the same interval."""
    groups = by_group(scores, group_of)
    if len(groups) < 2:
        return None, None
    sums = np.array([math.fsum(group) for group in groups.values()])
    counts = np.array([len(group) for group in groups.values()], dtype=float)
    low, high = np.quantile(drawn_means(sums, counts), [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def share_interval(scores: Mapping[str, float]) -> tuple[float | None, float | None]:
    """Like `interval`, for scores in 0..1. If all are 0 or all are 1, resampling shows no spread, so the exact interval
    of Clopper and Pearson (1934) is returned, with the number of papers as trials."""
    low, high = interval(scores)
    if low is None or low != high or low not in (0.0, 1.0):
        return low, high
    bound = ((1 - CONFIDENCE) / 2) ** (1 / len(by_group(scores)))
    return (0.0, 1 - bound) if low == 0.0 else (bound, 1.0)


def drawn_means(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over items of `DRAWS` samples of groups, each with as many groups as there are."""
    random = np.random.default_rng(SEED)
    means = []
    at_once = max(1, min(DRAWS, _MOST_AT_ONCE // len(sums)))
    for first in range(0, DRAWS, at_once):
        drawn = random.integers(len(sums), size=(min(at_once, DRAWS - first), len(sums)))
        means.append(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    return np.concatenate(means)
