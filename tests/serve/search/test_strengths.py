"""Scores of different kinds meet in one strength, in 0..1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.serve.search.strengths import INTERACTING, INTERACTION, Strengths
from xkg.store.graph_store import Hit

A, B, C, D = "title:a#a", "title:b#b", "title:c#c", "title:a#d"
FULL = 100


def hits(**scores: float) -> list[Hit]:
    ids = {"a": A, "b": B, "c": C, "d": D}
    return [Hit(ids[name], score) for name, score in sorted(scores.items(), key=lambda item: -item[1])]


def own(value: float) -> object:
    """The strength of the only technique of its paper is not changed by company."""
    return pytest.approx(value)


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
