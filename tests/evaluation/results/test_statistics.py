import math

import numpy as np
import pytest
from scipy import stats

from evaluation.results.statistics import interval, paired

# Student's sleep data (1908) are the textbook case of the paired t-test, with t = -4.0621 and p = 0.002833.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def by_paper(values: list[float]) -> dict[str, float]:
    return {f"title:{n}": value for n, value in enumerate(values)}


def test_the_textbook_case() -> None:
    row = paired("hours", by_paper(FIRST), by_paper(SECOND))
    assert row.p_t == pytest.approx(0.002833, abs=1e-6)
    assert row.difference == pytest.approx(1.58)
    assert row.effect == pytest.approx(1.58 / np.std(np.subtract(SECOND, FIRST), ddof=1))
    assert row.low is not None
    assert row.high is not None
    assert 0.5 < row.low < 1.58 < row.high < 2.6


def test_the_permutation_test_counts_sign_patterns() -> None:
    # Nine differences are positive and one is zero. Of 2^10 sign patterns, 2 x 2 are as extreme as this one.
    row = paired("hours", by_paper(FIRST), by_paper(SECOND))
    assert row.p_permutation == pytest.approx(4 / 1024)


def test_items_of_one_paper_are_one_unit() -> None:
    before = {f"title:{paper}#{n}": 0.0 for paper in range(3) for n in range(50)}
    now = {item: float(item.startswith("title:0")) for item in before}
    row = paired("executed", before, now)
    assert (row.items, row.papers) == (150, 3)
    assert row.difference == pytest.approx(1 / 3)
    assert row.p_permutation == 1.0  # the test has three units, not 150


def test_items_of_one_run_alone_are_counted() -> None:
    row = paired("s", {"a": 1.0, "b": 0.0}, {"b": 1.0, "c": 1.0, "d": 0.0})
    assert (row.items, row.only_before, row.only_now) == (1, 1, 2)
    assert (row.before, row.now) == (0.0, 1.0)


def test_the_interval_agrees_with_scipy() -> None:
    values = list(np.random.default_rng(3).normal(size=40))
    low, high = interval(by_paper(values))
    theirs = stats.bootstrap((values,), np.mean, method="percentile", rng=np.random.default_rng(1))
    assert math.isclose(low, theirs.confidence_interval.low, abs_tol=0.02)
    assert math.isclose(high, theirs.confidence_interval.high, abs_tol=0.02)
