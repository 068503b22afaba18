from hypothesis import given
from hypothesis import strategies as st

from evaluation.lines.overlap import precision, recall, span

SPANS = st.builds(
    lambda path, first, more: span(path, first, first + more),
    st.sampled_from("ab"), st.integers(1, 20), st.integers(0, 10),
)  # fmt: skip


def test_by_hand() -> None:
    places = [span("a", 1, 10), span("a", 5, 6)]
    assert precision(span("a", 9, 12), places) == 0.5
    assert recall(span("a", 9, 12), places) == 0.2
    assert recall(span("a", 6, 12), places) == 0.5  # both places have half: 5 of 10, 1 of 2
    assert recall(span("b", 1, 10), places) == 0.0
    assert precision(frozenset(), places) is None


@given(SPANS, st.lists(SPANS, max_size=4), st.randoms())
def test_bounds_order_and_more_lines(answer, places, random) -> None:
    share, held = precision(answer, places), recall(answer, places)
    assert share is not None
    assert 0 <= share <= 1
    assert 0 <= held <= 1
    assert recall(answer | span("a", 1, 40), places) >= held
    random.shuffle(places)
    assert (precision(answer, places), recall(answer, places)) == (share, held)
