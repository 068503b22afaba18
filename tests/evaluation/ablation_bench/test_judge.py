import json

from evaluation.ablation_bench.judge import blinded
from evaluation.ablation_bench.plans import PlanEntry


def entry(name: str) -> PlanEntry:
    return PlanEntry(name=name, ablated_part="part", action="REMOVE", metrics=())


def test_sides_are_shuffled_alike_each_time_and_either_may_be_the_plan() -> None:
    golds, plan = [entry(f"g{n}") for n in range(5)], [entry(f"p{n}") for n in range(5)]
    sides = [blinded(golds, plan, f"seed {n}") for n in range(40)]
    assert sides == [blinded(golds, plan, f"seed {n}") for n in range(40)]
    assert {side.plan_is_a for side in sides} == {True, False}
    assert len({side.a for side in sides}) > 10
    for side in sides:
        theirs = side.a if side.plan_is_a else side.b
        assert sorted(json.loads(line)["name"] for line in theirs.splitlines()) == [f"p{n}" for n in range(5)]
