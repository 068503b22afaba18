import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.serve.search.calibration import FITS, rise, score
from xkg.store.graph_store import Background, Coverage

ANSWERS = Coverage(0.4, 0.2)


def test_words_and_meaning_together_fit_and_neither_alone_does() -> None:
    assert score(0.9, 2.5, 4.0, 0.43, ANSWERS, False, 300) > FITS
    assert score(1.0, 0.0, 4.0, 0.43, ANSWERS, False, 300) < FITS
    assert score(0.0, 1.0, 6.0, 0.33, ANSWERS, False, 300) < FITS


def test_cosines_count_against_their_background_so_that_any_model_will_do() -> None:
    narrow, wide = Background(0.75, 0.02, 300), Background(0.15, 0.1, 300)
    assert rise(0.75 + 0.06, narrow) == pytest.approx(rise(0.15 + 0.3, wide))
    assert rise(0.9, Background(0.9, 0.0, 1)) == 0.0


amount = st.floats(0, 1e6)
share = st.floats(-1, 1)


@given(st.floats(-1e3, 1e3), amount, amount, share, share, share, st.booleans(), st.integers(0, 10**7))
def test_any_measures_give_a_share(
    risen: float, shared: float, more: float, near: float, mean: float, least: float, term: bool, techniques: int
) -> None:
    total, name = shared + more, Coverage(mean, least)
    value = score(risen, shared, total, near, name, term, techniques)
    assert 0 <= value <= 1
    assert math.isfinite(value)
    assert score(risen + 1, shared, total, near, name, term, techniques) >= value
    assert score(risen, shared, total, near + 0.1, name, term, techniques) >= value
    assert score(risen, shared, total, near, Coverage(mean + 0.1, least), term, techniques) >= value
