"""Scores of different kinds meet in one strength, in 0..1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.serve.search.strengths import COMPANY, INTERACTING, INTERACTION, PARTS, Strengths
from xkg.store.graph_store import Hit

A, B, C, D = "title:a#a", "title:b#b", "title:c#c", "title:a#d"
FULL = 100


def hits(**scores: float) -> list[Hit]:
    ids = {"a": A, "b": B, "c": C, "d": D}
    return [Hit(ids[name], score) for name, score in sorted(scores.items(), key=lambda item: -item[1])]


def own(value: float) -> object:
    """The strength of the only technique of its paper is not changed by company."""
    return pytest.approx(value)


def test_scores_of_different_kinds_meet_between_their_floor_and_their_best() -> None:
    found = Strengths([hits(a=30.0, b=10.0)], [hits(b=0.7, a=0.6, c=0.5)], FULL, None)
    strength, needs = found.together()
    assert strength == {A: own(0.5 + 0.25), B: own(1 / 6 + 0.5), C: own(0.0)}
    assert needs == []


def test_a_full_list_leaves_out_what_is_worse_than_its_last() -> None:
    strength, _ = Strengths([hits(a=30.0, b=10.0)], [[]], 2, None).together()
    assert strength == {A: own(0.5), B: own(0.0)}


def test_a_lone_technique_is_the_best_there_is() -> None:
    assert Strengths([[]], [hits(a=0.3)], FULL, None).together() == ({A: own(0.5)}, [])
    assert Strengths([[], []], [[], []], FULL, None).together() == ({}, [{}])


def test_what_is_not_admitted_counts_nothing() -> None:
    strength, _ = Strengths([hits(a=30.0, b=10.0)], [[]], FULL, {B}).together()
    assert strength == {B: own(0.5)}


def test_a_technique_is_strong_in_company() -> None:
    strength, _ = Strengths([hits(a=30.0, d=15.0)], [[]], FULL, None).together()
    assert strength == {A: own(0.5), D: own((1 - COMPANY) * 0.25 + COMPANY * 0.5)}


def test_the_best_part_of_a_query_stands_beside_the_whole() -> None:
    texts = [hits(a=30.0, b=15.0), hits(b=4.0), hits(c=2.0, b=1.0)]
    strength, needs = Strengths(texts, [[], [], []], FULL, None).together()
    assert strength[B] == own((1 - PARTS) * 0.25 + PARTS * 0.5)
    assert strength[C] == own(PARTS * 0.5)
    assert needs == [{B: own(0.5)}, {C: own(0.5), B: own(0.25)}]


def test_late_interaction_is_for_the_strongest_and_stands_beside_both_searches() -> None:
    found = Strengths([hits(a=30.0, b=20.0, c=10.0)], [[]], FULL, None)
    assert found.strongest() == [[A, B, C]]
    found.interact(0, [A, B, C], {})
    assert found.together()[0][A] == own(0.5)
    found.interact(0, [A, B, C], {A: 0.2, B: 0.4})
    strength, _ = found.together()
    assert strength[A] == own((1 - INTERACTION) * 0.5)
    assert strength[B] == own((1 - INTERACTION) / 3 + INTERACTION)
    assert strength[C] == own(1 / 6)  # nothing is known of its words
    many = [Hit(f"title:p{number}#t", float(INTERACTING * 2 - number)) for number in range(INTERACTING * 2)]
    assert Strengths([many, []], [[], []], FULL, None).strongest() == [[hit.id for hit in many[:INTERACTING]], []]


scored = st.dictionaries(st.sampled_from("abcd"), st.floats(-1, 1), max_size=4)


@given(scored, scored)
def test_strengths_are_shares(one: dict[str, float], other: dict[str, float]) -> None:
    strength, _ = Strengths([hits(**one)], [hits(**other)], FULL, None).together()
    assert len(strength) == len({*one, *other})
    assert all(0 <= value <= 1 + 1e-9 for value in strength.values())
