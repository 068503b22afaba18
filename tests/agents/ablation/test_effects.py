import math
from itertools import combinations

import pytest
from hypothesis import strategies as st

from xkg.agents.ablation.effects import SIGNIFICANT, adjusted, effect, outside, relative_noise, unchanged

VALUES = st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=1, max_size=6)
BASELINE = [1.0, 1.01, 0.99, 1.02, 0.98]


def test_an_effect_beyond_the_noise() -> None:
    found = effect(BASELINE, [1.5, 1.52, 1.48, 1.51, 1.49])
    assert found.change == pytest.approx(0.5)
    assert found.low is not None
    assert found.high is not None
    assert 0.4 < found.low < found.change < found.high < 0.6
    assert found.p == pytest.approx(2 / 252)  # one of 252 orders of ten runs is as extreme, and so is its reverse


def test_a_large_change_within_the_noise() -> None:
    found = effect([1.0, 2.0, 0.5, 1.4], [1.5, 2.5, 0.4, 1.8])
    assert abs(found.change) >= 0.05
    assert found.p is not None
    assert found.p > SIGNIFICANT


def test_a_rare_outcome_of_the_candidate_keeps_a_small_change_from_being_claimed() -> None:
    steady, with_a_second_mode = [1.02, 1.021, 1.022, 1.02, 1.021], [1.02, 1.021, 0.5, 1.02, 0.3]
    baseline = [1.0, 1.001, 0.999, 1.0, 1.001]
    found = [effect(baseline, values).p for values in (steady, with_a_second_mode)]
    assert [p is not None and p <= SIGNIFICANT for p in found] == [True, False]


@pytest.mark.parametrize(("runs", "too_few"), [((3, 3), True), ((5, 1), True), ((4, 4), False), ((5, 5), False)])
def test_a_claim_needs_four_runs_of_each(runs: tuple[int, int], too_few: bool) -> None:
    found = effect([1.0] * runs[0], [2.0] * runs[1])
    assert found.p is not None
    assert found.undecidable is too_few is (found.p > SIGNIFICANT) is (found.low is None)


def test_ties_count_against_a_difference() -> None:
    assert effect([1.0] * 5, [1.0] * 5).p == 1.0
    apart, touching = effect([1.0] * 5, [2.0] * 5).p, effect([1.0] * 5, [2.0] * 4 + [1.0]).p
    assert apart is not None
    assert touching is not None
    assert apart < touching


def test_equal_values_of_each_seed_are_no_difference_however_they_vary() -> None:
    same = unchanged([0.1, 0.3, 0.2])
    assert same.equal
    assert (same.change, same.low, same.p) == (0.0, None, 1.0)


def test_a_single_baseline_run_says_nothing_of_the_spread() -> None:
    found = effect([1.0], [2.0])
    assert (found.change, found.low, found.p) == (1.0, None, None)


def test_noise_is_relative_and_a_value_beyond_every_run_is_outside() -> None:
    assert relative_noise([99.0, 101.0]) == pytest.approx(math.sqrt(2) / 100)
    assert relative_noise([1.0]) is None
    assert [outside([1.0, 3.0], value) for value in (0.9, 1.0, 2.0, 3.1)] == [True, False, False, True]


def test_no_effect_of_what_is_no_number() -> None:
    for values in ([], [math.nan], [math.inf]):
        with pytest.raises(ValueError, match="finite"):
            effect([1.0], values)


def test_adjusted_p_values_are_those_of_benjamini_and_hochberg() -> None:
    assert adjusted([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.04, 0.04])


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 5), (5, 4)])
def test_p_is_the_share_of_orders_that_are_as_extreme(n: int, m: int) -> None:
    runs = range(n + m)
    reversed_pairs = [sum(j < i for i in own for j in runs if j not in own) for own in combinations(runs, n)]
    for own in combinations(runs, n):
        u = sum(j < i for i in own for j in runs if j not in own)
        found = effect([float(i) for i in own], [float(j) for j in runs if j not in own]).p
        extreme = min(u, n * m - u)
        assert found == pytest.approx(min(1.0, 2 * sum(k <= extreme for k in reversed_pairs) / len(reversed_pairs)))
