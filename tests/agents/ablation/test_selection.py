"""Selection: the branches of the bandit, and what every policy holds to."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.agents.ablation.selection.bandit import Bandit, BanditSettings
from xkg.agents.ablation.selection.exhaustive import Exhaustive
from xkg.agents.ablation.selection.history import Arm, Policy, Pull, Trial


def arms(count: int, candidates: int = 3) -> list[Arm]:
    return [
        Arm(id=f"a{i}", candidates=tuple(f"a{i}.{k}" for k in range(candidates)), weight=i / count, order=i)
        for i in range(count)
    ]


def trial(arm: str, candidate: int, change: float | None = 0.0, seed: int = 0, *, finished: bool = True) -> Trial:
    pull = Pull(arm=arm, candidate=f"{arm}.{candidate}", seed=seed)
    return Trial(pull=pull, change=change, cost=0.0, finished=finished)


def test_five_rounds_of_five_reach_every_arm_by_prior_weight() -> None:
    trials: list[Trial] = []
    for i in range(5):
        pulls = Bandit().choose(arms(15), trials, 5, i / 5)
        if i == 0:
            assert [pull.arm for pull in pulls] == ["a14", "a13", "a12", "a11", "a10"]
        trials += [Trial(pull=pull, change=0.1) for pull in pulls]
    assert {t.pull.arm for t in trials} == {arm.id for arm in arms(15)}


def test_the_upper_confidence_bound_chooses_what_changed_most() -> None:
    known = [trial("a0", 0, 0.0), trial("a1", 0, -3.0), trial("a2", 0, 0.1)]
    assert Bandit().choose(arms(3), known, 1, 0.5)[0].arm == "a1"


def test_what_is_under_way_counts_as_a_visit() -> None:
    """Two visits of the better arm, one of them unfinished, bring the other's bound above it."""
    bandit = Bandit(BanditSettings(beta=2.0))
    known = [trial("a0", 0, 0.0), trial("a1", 0, 0.2)]
    assert bandit.choose(arms(2), known, 1, 0.5)[0].arm == "a1"
    assert bandit.choose(arms(2), [*known, trial("a1", 1, None, finished=False)], 1, 0.5)[0].arm == "a0"


@pytest.mark.parametrize(("visits", "width"), [(0, 1), (2, 1), (3, 2), (10, 2), (11, 3)])
def test_an_arm_gives_more_the_better_it_is_known(visits: int, width: int) -> None:
    assert Bandit().width(visits) == width
    arm = Arm(id="a0", candidates=tuple(f"a0.{k}" for k in range(20)))
    known = [trial("a0", k, 0.1) for k in range(visits)]
    wide = Bandit().choose([arm], known, width, 0.5)
    assert [pull.candidate for pull in wide] == [f"a0.{k}" for k in range(visits, visits + width)]


@pytest.mark.parametrize(("progress", "beta"), [(0.0, 3.0), (0.29, 3.0), (0.3, 2.0), (0.69, 2.0), (0.7, 1.0)])
def test_exploration_weighs_more_early_and_less_late(progress: float, beta: float) -> None:
    assert math.isclose(Bandit().beta(progress), beta)


def test_a_failed_candidate_is_not_tried_again_and_its_cost_counts() -> None:
    bandit = Bandit(seeds=2)
    failed = trial("a0", 0, None)
    assert bandit.reward(failed.model_copy(update={"cost": 3.0})) == pytest.approx(-0.03)
    rest = bandit.choose([arms(1)[0]], [failed], 10, 0.5)
    assert {(p.candidate, p.seed) for p in rest} == {("a0.1", 0), ("a0.2", 0), ("a0.1", 1), ("a0.2", 1)}


def test_the_second_seed_begins_with_what_changed_most() -> None:
    known = [trial("a0", k, change) for k, change in enumerate((0.1, -0.9, 0.3))]
    assert Bandit(seeds=2).choose([arms(1)[0]], known, 1, 0.5)[0].candidate == "a0.1"


POLICIES = st.sampled_from([Bandit(seeds=2), Exhaustive(2)])


@given(POLICIES, st.integers(1, 6), st.integers(1, 4), st.integers(1, 7))
def test_a_policy_makes_each_pull_once_and_in_the_end_all(
    policy: Policy, count: int, candidates: int, places: int
) -> None:
    trials: list[Trial] = []
    total = count * candidates * 2
    while True:
        pulls = policy.choose(arms(count, candidates), trials, places, min(1.0, len(trials) / total))
        assert len(pulls) == min(places, total - len(trials))
        if not pulls:
            break
        trials += [Trial(pull=pull, change=0.1) for pull in pulls]
    assert len({(t.pull.candidate, t.pull.seed) for t in trials}) == total
