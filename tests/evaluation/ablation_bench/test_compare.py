"""Two runs side by side, beside scipy and by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evaluation.ablation_bench.compare import compare


def test_by_hand() -> None:
    # differences .1, .3, .2: mean .2, standard deviation .1
    found = compare({"a": 0.4, "b": 0.7, "c": 0.2, "only here": 1.0}, {"a": 0.3, "b": 0.4, "c": 0.0, "only there": 1.0})
    assert found.papers == 3
    assert found.difference == pytest.approx(0.2)
    assert found.effect == pytest.approx(2.0)
    assert found.p == pytest.approx(0.0742, abs=1e-4)  # t = 3.464, 2 degrees of freedom
    assert found.low is not None
    assert found.high is not None
    assert 0.1 <= found.low <= found.difference <= found.high <= 0.3


@pytest.mark.parametrize("other", [{}, {"a": 0.5}, {"a": 0.5, "b": 0.5}])
def test_without_spread_nothing_is_claimed(other: dict[str, float]) -> None:
    found = compare({"a": 0.7, "b": 0.7}, other)
    assert (found.low, found.high, found.effect, found.p) == (None, None, None, None)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6))
def test_turning_the_runs_round_turns_the_difference(pairs: list[tuple[float, float]]) -> None:
    a = {str(n): pair[0] for n, pair in enumerate(pairs)}
    b = {str(n): pair[1] for n, pair in enumerate(pairs)}
    found, turned = compare(a, b), compare(b, a)
    assert found.difference == pytest.approx(-turned.difference)
    assert compare(a, a).difference == 0.0
    if found.p is not None:
        assert found.p == pytest.approx(turned.p)
        assert found.p == pytest.approx(stats.ttest_rel([p[0] for p in pairs], [p[1] for p in pairs]).pvalue)
