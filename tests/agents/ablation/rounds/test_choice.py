from collections.abc import Sequence
from typing import Any, cast

import pytest

from xkg.agents.ablation.candidates import Candidate, Component, Place, Replacement, Space
from xkg.agents.ablation.outcomes import CandidateOutcome
from xkg.agents.ablation.rounds import choice
from xkg.agents.ablation.rounds.choice import Choice

PLACE = Place(path="train.py", start_line=1, end_line=2)


def candidate(component: int, number: int) -> Candidate:
    change = Replacement(path="train.py", start=component, end=component + 1, old="9", new=str(number))
    return Candidate(
        component=f"c{component}", kind="scale", value=str(number), baseline_value="1", places=(PLACE,),
        description=f"c{component} x {number}", replacements=(change,),
    )  # fmt: skip


def space(count: int = 6, candidates: int = 3) -> Space:
    components = [
        Component(id=f"c{i}", name=f"part {i}", places=(PLACE,), weight=i / 10, order=i) for i in range(count)
    ]
    return Space(
        components=tuple(components),
        candidates=tuple(candidate(i, n) for i in range(count) for n in range(candidates)),
    )


def picked(choice: Choice, most: int, outcomes: Sequence[CandidateOutcome] = ()) -> list[str]:
    return [each.description for each in choice.next(most, outcomes)]


def test_each_component_has_its_turn_by_weight_before_any_has_a_second() -> None:
    chosen = Choice(space(3))
    assert picked(chosen, 4) == ["c2 x 0", "c1 x 0", "c0 x 0", "c2 x 1"]
    assert picked(chosen, 100) == ["c1 x 1", "c0 x 1", "c2 x 2", "c1 x 2", "c0 x 2"]
    assert picked(chosen, 1) == []


class Writer:
    """Writes candidates with these numbers for the first component only. Every reflection favours that component."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)
        self.reflected: list[int] = []

    def candidates(self, component: Component, count: int, *_: object) -> list[Candidate]:
        new = [candidate(0, n) for n in self.numbers[:count]] if component.id == "c0" else []
        del self.numbers[: len(new)]
        return new

    def reflect(self, number: int, *_: object) -> dict[str, float]:
        self.reflected.append(number)
        return {"c0": 1.0}


def test_a_model_writes_for_the_component_whose_turn_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "A_ROUND", 2)
    writer = Writer(1, 7, 8)  # candidate 1 is known from the code, and comes first
    chosen = Choice(space(2, 2), cast(Any, writer))
    assert picked(chosen, 5) == ["c1 x 0", "c0 x 1"]
    assert picked(chosen, 5) == ["c0 x 7", "c1 x 1"]
    assert picked(chosen, 5) == ["c0 x 8", "c0 x 0"]
    assert picked(chosen, 5) == []
    assert writer.reflected == [1, 2, 3]
