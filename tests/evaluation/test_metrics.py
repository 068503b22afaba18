"""Measures of rankings and spans."""

from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics import mean_reciprocal_rank, overlap, recall_at, recall_of, reciprocal_rank

rankings = st.lists(st.lists(st.booleans(), max_size=8), max_size=8)
spans = st.tuples(st.integers(1, 60), st.integers(0, 40)).map(lambda s: (s[0], s[0] + s[1]))


def test_known_values() -> None:
    ranked = [[True, False], [False, True], [False, False], []]
    assert recall_at(1, ranked) == 0.25
    assert recall_at(2, ranked) == 0.5
    assert mean_reciprocal_rank(ranked) == (1 + 0.5) / 4
    assert recall_of([[1, 2], [3], []], [[2, 9], [3, 4], [5]]) == 0.75
    assert overlap((1, 10), (6, 15)) == 5 / 15
    assert overlap((1, 10), (11, 12)) == 0


@given(rankings)
def test_recall_grows_with_k_and_bounds_the_mean_reciprocal_rank(ranked: list[list[bool]]) -> None:
    recalls = [recall_at(k, ranked) for k in range(9)]
    assert recalls == sorted(recalls)
    assert recalls[0] == 0
    assert recalls[1] <= mean_reciprocal_rank(ranked) <= recalls[8] <= 1


@given(st.lists(st.booleans(), max_size=8))
def test_reciprocal_rank_is_that_of_the_first_right_one(ranking: list[bool]) -> None:
    value = reciprocal_rank(ranking)
    assert value == (1 / (ranking.index(True) + 1) if True in ranking else 0)


@given(spans, spans)
def test_overlap_is_symmetric_and_whole_only_for_equal_spans(a: tuple[int, int], b: tuple[int, int]) -> None:
    shared = len(set(range(a[0], a[1] + 1)) & set(range(b[0], b[1] + 1)))
    assert overlap(a, b) == overlap(b, a)
    assert (overlap(a, b) == 1) == (a == b)
    assert (overlap(a, b) > 0) == (shared > 0)
