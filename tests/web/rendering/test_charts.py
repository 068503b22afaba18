import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.web.rendering.charts import WIDTH, Segment, bars, histogram, ticks


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


def test_nothing_to_draw_is_drawn() -> None:
    assert not bars("levels", "code", []).rects
    assert not bars("costs", "dollars", [("a", [])]).rects


def test_every_score_is_in_one_cell() -> None:
    chart = histogram("scores", "score", [0.0, 0.05, 0.1, 0.3, 1.0, 1.0, 0.999], mark=0.6)
    counts = {rect.words.rpartition(": ")[0]: int(rect.words.rpartition(" ")[2]) for rect in chart.rects}
    assert counts == {"0.00 to 0.05": 1, "0.05 to 0.10": 1, "0.10 to 0.15": 1, "0.30 to 0.35": 1, "0.95 to 1.00": 3}
    assert max(chart.rects, key=lambda rect: rect.height).words.endswith(": 3")
