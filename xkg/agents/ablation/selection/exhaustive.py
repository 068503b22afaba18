"""Tries all candidates."""

from collections.abc import Sequence

from xkg.agents.ablation.selection.history import Arm, Pull, Remaining, Trial


class Exhaustive:
    """Implements `Policy`: each candidate with the first seed, then each with the second."""

    def __init__(self, seeds: int = 1) -> None:
        self._seeds = seeds

    def choose(self, arms: Sequence[Arm], trials: Sequence[Trial], places: int, _progress: float) -> list[Pull]:
        remaining = Remaining(arms, trials, self._seeds)
        pulls = [pull for arm in arms for pull in remaining.of(arm.id)]
        return sorted(pulls, key=lambda pull: pull.seed)[:places]
