import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.web.rendering.charts import WIDTH, Segment, bars, ticks


@given(st.floats(1e-6, 1e9))
def test_ticks_are_few_round_numbers_that_reach_the_end(most: float) -> None:
    found = ticks(most)
    assert 3 <= len(found) <= 8
    assert found[0] == 0
    assert most / 2 < found[-1] <= most * 1.000001


def test_bars_are_as_long_as_their_numbers() -> None:
    chart = bars("levels", "code", [("a", [Segment(0, 6, "x"), Segment(6, 8, "y")]), ("b", [Segment(0, 4, "x")])])
    first, second, third = chart.rects
    assert first.x + first.width == pytest.approx(second.x, abs=0.2)
    assert second.x + second.width < WIDTH
    assert third.width == pytest.approx(first.width * 4 / 6, abs=0.2)
    assert third.y > first.y
    assert third.y + third.height < chart.height
