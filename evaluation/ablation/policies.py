"""Runs policies on generated methods and scores their recommendations."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from evaluation.ablation.baselines import Heuristic, Random, Uniform
from evaluation.ablation.generator import SEEDS, Method
from xkg.agents.ablation.rounds.overlapping import known_at
from xkg.agents.ablation.selection.bandit import Bandit, BanditSettings
from xkg.agents.ablation.selection.exhaustive import Exhaustive
from xkg.agents.ablation.selection.history import Policy, Trial

PLACES = 5
POLICIES: dict[str, Callable[[int], Policy]] = {
    "bandit (β 2)": lambda _: Bandit(seeds=SEEDS),
    "bandit (β 2), two jobs": lambda _: Bandit(seeds=SEEDS),
    "bandit (β 2), four jobs": lambda _: Bandit(seeds=SEEDS),
    "bandit (β 2), no knowledge": lambda _: Bandit(BanditSettings(knowledge=False), SEEDS),
    "bandit (β 0.2)": lambda _: Bandit(BanditSettings(beta=0.2), SEEDS),
    "uniform (no bandit)": lambda _: Uniform(SEEDS),
    "heuristic (hierarchy order)": lambda _: Heuristic(SEEDS),
    "random": lambda seed: Random(seed, SEEDS),
    "exhaustive": lambda _: Exhaustive(SEEDS),
}
JOBS = {"bandit (β 2), two jobs": 2, "bandit (β 2), four jobs": 4}


@dataclass(frozen=True)
class Score:
    """`acc5` is the share of the five most important components that are among the five recommended; `top1` and `top3`
    likewise. `regret` is the importance lost by trusting the first recommendation, relative to the most important
    component. `hours` is the cost of the runs."""

    acc5: float
    top1: float
    top3: float
    regret: float
    hours: float


def score(policy: Policy, method: Method, share: float, jobs: int = 1) -> Score:
    """Runs a policy with a budget of this share of all configurations × seeds. Rounds overlap as with this number of
    jobs."""
    budget = max(1, round(share * method.configurations * SEEDS))
    baseline = fmean(method.baselines())
    trials: list[Trial] = []
    rounds = math.ceil(budget / PLACES)
    for i in range(rounds):
        known = known_at(len(trials), jobs, PLACES)
        seen = [*trials[:known], *(Trial(pull=trial.pull, finished=False) for trial in trials[known:])]
        for pull in policy.choose(method.arms, seen, min(PLACES, budget - len(trials)), i / rounds):
            value = method.run(pull)
            change = None if value is None else (value - baseline) / abs(baseline)
            trials.append(Trial(pull=pull, change=change, cost=method.hours[pull.candidate]))
    ranked = _ranked(method, trials)
    true = method.top(5)
    best = method.importance[true[0]]
    return Score(
        acc5=len(set(ranked[:5]) & set(true)) / 5,
        top1=float(ranked[0] == true[0]),
        top3=len(set(ranked[:3]) & set(true[:3])) / 3,
        regret=(best - method.importance[ranked[0]]) / best,
        hours=sum(trial.cost for trial in trials),
    )


def _ranked(method: Method, trials: list[Trial]) -> list[str]:
    """Components by the largest mean change of a candidate. Components without results come last, in any order."""
    changes: dict[tuple[str, str], list[float]] = {}
    for trial in trials:
        if trial.change is not None:
            changes.setdefault((trial.pull.arm, trial.pull.candidate), []).append(trial.change)
    found = {arm.id: 0.0 for arm in method.arms}
    for (arm, _), values in changes.items():
        found[arm] = max(found[arm], abs(fmean(values)))
    names = sorted(found)
    random.Random(method.seed).shuffle(names)
    return sorted(names, key=lambda name: -found[name])
