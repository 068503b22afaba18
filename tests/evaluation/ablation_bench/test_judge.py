"""Answers of judges, and blinded sides."""

import json
from typing import Any

from evaluation.ablation_bench.judge import Sides, author_matches, blinded, reviewer_labels
from evaluation.ablation_bench.plans import PlanEntry

PLAN_IS_A, PLAN_IS_B = Sides("", "", True), Sides("", "", False)


def entry(name: str) -> PlanEntry:
    return PlanEntry(name=name, ablated_part="part", action="REMOVE", metrics=())


def lines(*rows: dict[str, Any]) -> str:
    return "<predictions>\n" + "\n".join(map(json.dumps, rows)) + "\n</predictions>"


def both(a: object, b: object) -> dict[str, Any]:
    return {"name_in_A": a, "name_in_B": b}


def test_sides_are_shuffled_alike_each_time_and_either_may_be_the_plan() -> None:
    golds, plan = [entry(f"g{n}") for n in range(5)], [entry(f"p{n}") for n in range(5)]
    sides = [blinded(golds, plan, f"seed {n}") for n in range(40)]
    assert sides == [blinded(golds, plan, f"seed {n}") for n in range(40)]
    assert {side.plan_is_a for side in sides} == {True, False}
    assert len({side.a for side in sides}) > 10
    for side in sides:
        theirs = side.a if side.plan_is_a else side.b
        assert sorted(json.loads(line)["name"] for line in theirs.splitlines()) == [f"p{n}" for n in range(5)]


def test_what_a_judge_gets_wrong_is_counted() -> None:
    rows = [both("g1", "gone"), both("nobody", "p1"), both("g2", "p1"), both("g2", "p2"), both(3, "p1")]
    matches, problems = author_matches(lines(*rows), PLAN_IS_B, ["g1", "g2", "g3"], ["p1", "p2"])
    assert matches == {"g1": (), "g2": ("p1",), "g3": ()}
    assert sorted(problems.values()) == [1, 1, 1, 2]
    assert author_matches("no tags", PLAN_IS_B, ["g"], ["p"])[0] == {"g": ()}


def test_labels_of_a_reviewer_judge() -> None:
    rows = [
        {"name_in_plan": "p1", "appears_in_review": True},
        {"name_in_plan": "p1", "appears_in_review": False},
        {"name_in_plan": "gone", "appears_in_review": True},
        {"name_in_plan": "p2", "appears_in_review": "yes"},
    ]
    labels, problems = reviewer_labels(lines(*rows), ["p1", "p2"])
    assert labels == {"p1": True, "p2": False}
    assert list(problems.values()) == [1, 1, 1, 1]
