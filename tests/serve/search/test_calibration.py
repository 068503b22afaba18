import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.serve.search.calibration import FITS, rise, score
from xkg.store.graph_store import Background


def test_words_and_meaning_together_fit_and_neither_alone_does() -> None:
    assert score(0.9, 2.5, 4.0, 0.43, 300) > FITS
    assert score(1.0, 0.0, 4.0, 0.43, 300) < FITS
    assert score(0.0, 1.0, 6.0, 0.43, 300) < FITS


def test_the_same_words_in_another_sense_fit_less() -> None:
    assert score(0.4, 1.2, 3.0, 0.45, 300) > FITS > score(0.4, 1.2, 3.0, 0.25, 300)


def test_cosines_count_against_their_background_so_that_any_model_will_do() -> None:
    narrow, wide = Background(0.75, 0.02, 300), Background(0.15, 0.1, 300)
    assert rise(0.75 + 0.06, narrow) == pytest.approx(rise(0.15 + 0.3, wide))
    assert rise(0.9, Background(0.9, 0.0, 1)) == 0.0


def test_the_highest_of_a_million_is_expected_to_be_higher() -> None:
    assert rise(0.5, Background(0.1, 0.1, 1_000_000)) < rise(0.5, Background(0.1, 0.1, 300))


amount = st.floats(0, 1e6)


@given(st.floats(-1e3, 1e3), amount, amount, st.floats(-1, 1), st.integers(0, 10**7))
def test_any_measures_give_a_share(risen: float, shared: float, more: float, near: float, techniques: int) -> None:
    value = score(risen, shared, shared + more, near, techniques)
    assert 0 <= value <= 1
    assert math.isfinite(value)
    assert score(risen + 1, shared, shared + more, near, techniques) >= value
    assert score(risen, shared, shared + more, near + 0.1, techniques) >= value
