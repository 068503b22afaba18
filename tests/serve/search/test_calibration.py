import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.serve.search.calibration import FITS, bare_term, rise, score
from xkg.store.graph_store import Background, Coverage

ANSWERS, FOREIGN = Coverage(0.4, 0.2), Coverage(0.2, 0.05)


def test_words_and_meaning_together_fit_and_neither_alone_does() -> None:
    assert score(0.9, 2.5, 4.0, 0.43, ANSWERS, False, 300) > FITS
    assert score(1.0, 0.0, 4.0, 0.43, ANSWERS, False, 300) < FITS
    assert score(0.0, 1.0, 6.0, 0.33, ANSWERS, False, 300) < FITS


def test_the_same_words_in_another_sense_fit_less() -> None:
    name = Coverage(0.3, 0.1)
    assert score(0.7, 1.8, 3.0, 0.45, name, False, 300) > FITS > score(0.7, 1.8, 3.0, 0.2, name, False, 300)


def test_a_name_that_the_query_does_not_cover_fits_less() -> None:
    assert score(0.5, 1.2, 2.0, 0.45, ANSWERS, False, 300) > score(0.5, 1.2, 2.0, 0.45, FOREIGN, False, 300)


def test_a_bare_term_needs_more_than_a_description() -> None:
    assert score(0.5, 1.2, 2.0, 0.4, FOREIGN, True, 300) < score(0.5, 1.2, 2.0, 0.4, FOREIGN, False, 300)


@pytest.mark.parametrize("query", ["layer normalization", "rotary position embedding", "Dropout", "top-k"])
def test_a_term_is_a_name_without_words_between(query: str) -> None:
    assert bare_term(query)


@pytest.mark.parametrize(
    "query", ["an average of the weights", "normalise layers to unit variance", "posterior sample divergence density"]
)
def test_a_description_is_no_term(query: str) -> None:
    assert not bare_term(query)


def test_cosines_count_against_their_background_so_that_any_model_will_do() -> None:
    narrow, wide = Background(0.75, 0.02, 300), Background(0.15, 0.1, 300)
    assert rise(0.75 + 0.06, narrow) == pytest.approx(rise(0.15 + 0.3, wide))
    assert rise(0.9, Background(0.9, 0.0, 1)) == 0.0


def test_the_highest_of_a_million_is_expected_to_be_higher() -> None:
    assert rise(0.5, Background(0.1, 0.1, 1_000_000)) < rise(0.5, Background(0.1, 0.1, 300))


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
