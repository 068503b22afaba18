"""Effects: intervals, noise, exact baselines, several comparisons."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.agents.ablation.effects import CRITICAL, effect, holm, pooled_deviation, relative_noise, t_cdf, t_quantile

VALUES = st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262), (30, 2.042), (120, 1.980)]
)
def test_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(quantile, abs=5e-4)
    assert t_cdf(quantile, freedom) == pytest.approx(0.975, abs=1e-4)
    assert t_cdf(-quantile, freedom) == pytest.approx(0.025, abs=1e-4)


def test_an_effect_beyond_the_noise() -> None:
    found = effect([1.0, 1.01, 0.99], [1.5, 1.52, 1.48])
    assert found.change == pytest.approx(0.5)
    assert found.low is not None
    assert found.high is not None
    assert 0.4 < found.low < found.change < found.high < 0.6
    assert found.beyond_noise
    assert not found.once


def test_a_large_change_within_the_noise() -> None:
    found = effect([1.0, 2.0, 0.5], [1.5, 2.5, 0.4])
    assert abs(found.change) >= 0.05
    assert not found.beyond_noise


def test_a_small_change_beyond_the_noise() -> None:
    found = effect([1.0, 1.0001, 0.9999], [1.02, 1.0201, 1.0199])
    assert found.beyond_noise
    assert abs(found.change) < CRITICAL


def test_one_run_is_called_once_and_needs_a_wider_interval() -> None:
    once, thrice = effect([1.0, 1.01, 0.99], [1.05]), effect([1.0, 1.01, 0.99], [1.05, 1.06, 1.04])
    assert once.once
    assert once.high is not None
    assert thrice.high is not None
    assert once.high > thrice.high


def test_an_exact_baseline_knows_equal_from_different() -> None:
    same, other = effect([0.1] * 3, [0.1]), effect([0.1] * 3, [0.1001])
    assert same.nothing_changed
    assert same.change == 0.0
    assert not same.beyond_noise
    assert other.beyond_noise
    assert abs(other.change) < CRITICAL


def test_a_single_baseline_run_says_nothing_of_the_spread() -> None:
    assert effect([1.0], [2.0]).low is None
    assert not effect([1.0], [2.0]).beyond_noise
    pooled = pooled_deviation([[1.0], [2.0, 2.1], [3.0, 2.9]])
    assert pooled == pytest.approx(0.0707, abs=1e-3)
    assert effect([1.0], [2.0], pooled).low is not None
    assert pooled_deviation([[1.0], [2.0]]) is None


def test_noise_is_relative() -> None:
    assert relative_noise([99.0, 101.0]) == pytest.approx(math.sqrt(2) / 100)
    assert relative_noise([1.0]) is None


def test_no_effect_of_what_is_no_number() -> None:
    for values in ([], [math.nan], [math.inf]):
        with pytest.raises(ValueError, match="finite"):
            effect([1.0], values)


def test_adjusted_p_values_are_those_of_holm() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])


@given(VALUES, VALUES, st.floats(0.1, 10).map(lambda x: round(x, 2)))
def test_the_unit_of_the_metric_does_not_matter(baseline: list[float], values: list[float], unit: float) -> None:
    one = effect(baseline, values)
    other = effect([v * unit for v in baseline], [v * unit for v in values])
    if abs(one.baseline) > 1e-2:
        assert other.change == pytest.approx(one.change, rel=1e-6, abs=1e-6)


def test_values_whose_squares_are_tiny_have_an_interval() -> None:
    found = effect([1e-110, 3e-110, 2e-110], [5e-110, 4e-110, 6e-110])
    assert found.low is not None
    assert found.low < found.change == pytest.approx(1.5)
