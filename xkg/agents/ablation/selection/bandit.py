"""Algorithm 1 of AblateCell: an upper-confidence-bound bandit over components.

UCB1 is from P. Auer, N. Cesa-Bianchi and P. Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem", 2002."""

import math
from collections.abc import Sequence

from pydantic import Field

from xkg.agents.ablation.selection.history import Arm, Pull, Remaining, Trial
from xkg.value import Value


class BanditSettings(Value):
    """Parameters. `beta` (β) weighs exploration: 1.5 times as much in the first 30 % of the rounds, half from 70 % on.
    `cost_weight` (λ) is the reward that a device hour costs. A chosen arm gets `explore` pulls if it was visited fewer
    than 3 times, `exploit` after more than 10 visits, otherwise `base`. Arms start with one pull, so that a round
    reaches as many arms as it has places. `knowledge` orders unexplored arms by their prior weights instead of list
    order."""

    beta: float = Field(default=2.0, ge=0)
    cost_weight: float = Field(default=0.01, ge=0)
    explore: int = Field(default=1, ge=1)
    base: int = Field(default=2, ge=1)
    exploit: int = Field(default=3, ge=1)
    knowledge: bool = True


EARLY, LATE = 0.3, 0.7
FEW_VISITS, MANY_VISITS = 3, 10


class Bandit:
    """Implements `Policy`."""

    def __init__(self, settings: BanditSettings | None = None, seeds: int = 1) -> None:
        """The number of seeds for each candidate."""
        self._settings = settings or BanditSettings()
        self._seeds = seeds

    def choose(self, arms: Sequence[Arm], trials: Sequence[Trial], places: int, progress: float) -> list[Pull]:
        """Fills a round arm by arm. Running candidates count as visits."""
        remaining = Remaining(arms, trials, self._seeds)
        visits = {arm.id: 0 for arm in arms}
        rewards: dict[str, list[float]] = {arm.id: [] for arm in arms}
        for trial in trials:
            if trial.pull.arm in visits:
                visits[trial.pull.arm] += 1
                if trial.finished:
                    rewards[trial.pull.arm].append(self.reward(trial))
        chosen: list[Pull] = []
        while len(chosen) < places:
            open_arms = [arm for arm in arms if remaining.of(arm.id)]
            if not open_arms:
                break
            arm = self._next(open_arms, visits, rewards, progress)
            count = min(self.width(visits[arm.id]), places - len(chosen))
            pulls = [remaining.take(pull) for pull in remaining.of(arm.id)[:count]]
            visits[arm.id] += len(pulls)
            chosen += pulls
        return chosen

    def reward(self, trial: Trial) -> float:
        """|Δ| − λ·cost. A failed trial has Δ = 0."""
        return abs(trial.change or 0.0) - self._settings.cost_weight * trial.cost

    def beta(self, progress: float) -> float:
        factor = 1.5 if progress < EARLY else 0.5 if progress >= LATE else 1.0
        return self._settings.beta * factor

    def width(self, visits: int) -> int:
        """The number of pulls that an arm gets at once (K)."""
        settings = self._settings
        return settings.explore if visits < FEW_VISITS else settings.exploit if visits > MANY_VISITS else settings.base

    def _next(
        self, arms: Sequence[Arm], visits: dict[str, int], rewards: dict[str, list[float]], progress: float
    ) -> Arm:
        unexplored = [arm for arm in arms if not visits[arm.id]]
        if unexplored:
            known = self._settings.knowledge
            return max(unexplored, key=lambda arm: (arm.weight, -arm.order)) if known else unexplored[0]
        total = sum(visits.values())

        def bound(arm: Arm) -> float:
            own = rewards[arm.id]
            mean = sum(own) / len(own) if own else 0.0
            return mean + self.beta(progress) * math.sqrt(math.log(total + 1) / visits[arm.id])

        return max(arms, key=lambda arm: (bound(arm), -arm.order))
