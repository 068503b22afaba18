"""Compares metrics with values computed by hand, and tests properties of any plan."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from evaluation.ablation_bench.metrics import author_scores, ndcg, program_scores, reviewer_scores

PLAN = ["a", "b", "c", "d"]


def test_author_scores_by_hand() -> None:
    # Entry b matches two golds but counts only once for precision. Gold g3 is not matched, because its match includes
    # d, which is not among the first three entries.
    matches = {"g1": ["b"], "g2": ["b"], "g3": ["c", "d"], "g4": []}
    at_3 = author_scores(PLAN, ["g1", "g2", "g3", "g4"], matches, 3)
    assert at_3["precision"] == pytest.approx(1 / 3)
    assert at_3["recall"] == pytest.approx(2 / 4)
    assert at_3["f1"] == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert at_3["ndcg"] == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3) + 1 / math.log2(4)))
    at_4 = author_scores(PLAN, ["g1", "g2", "g3", "g4"], matches, 4)
    assert (at_4["precision"], at_4["recall"]) == (3 / 4, 3 / 4)
    assert author_scores(PLAN, ["g1"], {"g1": ["a"]}, 10)["precision"] == 1 / 4


def test_program_scores_by_hand() -> None:
    # Of the first three entries, only a is wrong. Entry c counts as right because it is part of a match, even though
    # gold g3 is not found.
    matches = {"g1": ["b"], "g2": ["b"], "g3": ["c", "d"], "g4": []}
    at_3 = program_scores(PLAN, ["g1", "g2", "g3", "g4"], matches, 3)
    assert (at_3["precision"], at_3["recall"]) == (pytest.approx(2 / 3), 2 / 4)
    assert at_3["ndcg"] == pytest.approx((1 + 1 / math.log2(3)) / (1 + 1 / math.log2(3) + 1 / math.log2(4)))
    assert program_scores([], ["g"], {}, 5) == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "ndcg": 0.0}


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 10), st.randoms())
def test_the_program_agrees_if_entries_match_one_gold(entries: int, count: int, k: int, chance: random.Random) -> None:
    plan, golds = [f"p{n}" for n in range(entries)], [f"g{n}" for n in range(count)]
    free = chance.sample(plan, entries)
    matches = {gold: [free.pop()] for gold in golds if free and chance.random() < 0.5}
    here, there = author_scores(plan, golds, matches, k), program_scores(plan, golds, matches, k)
    assert (here["precision"], here["recall"], here["f1"]) == pytest.approx(
        (there["precision"], there["recall"], there["f1"])
    )
    assert 0 <= there["ndcg"] <= 1


def test_reviewer_scores_by_hand() -> None:
    at_2 = reviewer_scores([True, False, True], 3, 2)
    assert (at_2["precision"], at_2["recall"]) == (1 / 2, 1 / 3)
    assert at_2["f1"] == pytest.approx(0.4)
    assert reviewer_scores([True, True], 1, 2)["recall"] == 1.0
    assert "ndcg" not in at_2


@given(st.lists(st.booleans(), min_size=2, max_size=10))
def test_ndcg_is_that_of_scikit_learn(right: list[bool]) -> None:
    if any(right):
        ranks = [[-rank for rank in range(len(right))]]
        assert ndcg(right, sum(right)) == pytest.approx(ndcg_score([[float(hit) for hit in right]], ranks))
