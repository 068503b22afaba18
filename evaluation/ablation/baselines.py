"""Policies to compare with the bandit. Each implements `Policy`."""

import random
from collections.abc import Sequence

from xkg.agents.ablation.selection.history import Arm, Pull, Remaining, Trial


class Random:
    """Chooses remaining pulls uniformly at random; equal seeds give equal choices."""

    def __init__(self, seed: int = 0, seeds: int = 1) -> None:
        self._seed, self._seeds = seed, seeds

    def choose(self, arms: Sequence[Arm], trials: Sequence[Trial], places: int, _progress: float) -> list[Pull]:
        remaining = Remaining(arms, trials, self._seeds)
        pulls = [pull for arm in arms for pull in remaining.of(arm.id)]
        return random.Random(f"{self._seed}:{len(trials)}").sample(pulls, min(places, len(pulls)))


class Uniform:
    """One pull for each component in turn: the method without its bandit."""

    def __init__(self, seeds: int = 1) -> None:
        self._seeds = seeds

    def choose(self, arms: Sequence[Arm], trials: Sequence[Trial], places: int, _progress: float) -> list[Pull]:
        remaining = Remaining(arms, trials, self._seeds)
        visits = {arm.id: 0 for arm in arms}
        for trial in trials:
            visits[trial.pull.arm] = visits.get(trial.pull.arm, 0) + 1
        chosen: list[Pull] = []
        while len(chosen) < places:
            left = [arm for arm in arms if remaining.of(arm.id)]
            if not left:
                break
            arm = min(left, key=lambda arm: (visits[arm.id], arm.order))
            visits[arm.id] += 1
            chosen.append(remaining.take(remaining.of(arm.id)[0]))
        return chosen


class Heuristic:
    """The components in hierarchy order, each with all of its candidates before the next."""

    def __init__(self, seeds: int = 1) -> None:
        self._seeds = seeds

    def choose(self, arms: Sequence[Arm], trials: Sequence[Trial], places: int, _progress: float) -> list[Pull]:
        remaining = Remaining(arms, trials, self._seeds)
        ordered = sorted(arms, key=lambda arm: arm.order)
        return [pull for arm in ordered for pull in remaining.of(arm.id)][:places]
