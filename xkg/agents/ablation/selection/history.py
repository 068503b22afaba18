"""The input of a policy: arms with their candidates, and the trials so far."""

from collections.abc import Sequence
from typing import Protocol

from xkg.value import Value


class Arm(Value):
    """A component. `weight` is its expected importance, `order` its position in the hierarchy. `candidates` are ids,
    most promising first."""

    id: str
    candidates: tuple[str, ...]
    weight: float = 0.5
    order: int = 0


class Pull(Value):
    """A candidate to run with one seed (given as its index)."""

    arm: str
    candidate: str
    seed: int = 0


class Trial(Value):
    """A pull that was started. `change` is relative to the baseline; None while it is running and if it failed. `cost`
    is in device hours."""

    pull: Pull
    change: float | None = None
    cost: float = 0.0
    finished: bool = True


class Policy(Protocol):
    """`choose` returns at most `places` new pulls, and fewer only if no more are left. `progress` is the finished share
    (0..1) of the rounds."""

    def choose(self, arms: Sequence[Arm], trials: Sequence[Trial], places: int, progress: float, /) -> list[Pull]: ...


class Remaining:
    """The remaining pulls of each arm: every candidate with the first seed before any with the second, and later seeds
    by the size of the candidate's effect."""

    def __init__(self, arms: Sequence[Arm], trials: Sequence[Trial], seeds: int) -> None:
        self._arms = {arm.id: arm for arm in arms}
        self._made = {(t.pull.candidate, t.pull.seed) for t in trials}
        self._failed = {t.pull.candidate for t in trials if t.finished and t.change is None}
        changes: dict[str, list[float]] = {}
        for trial in trials:
            if trial.change is not None:
                changes.setdefault(trial.pull.candidate, []).append(trial.change)
        self._size = {candidate: abs(sum(values) / len(values)) for candidate, values in changes.items()}
        self._seeds = seeds

    def of(self, arm: str) -> list[Pull]:
        """The pulls in order, best first."""
        pulls = []
        for seed in range(self._seeds):
            candidates = list(self._arms[arm].candidates)
            if seed:
                candidates.sort(key=lambda c: -self._size.get(c, 0.0))
            pulls += [
                Pull(arm=arm, candidate=candidate, seed=seed)
                for candidate in candidates
                if (candidate, seed) not in self._made and candidate not in self._failed
            ]
        return pulls

    def take(self, pull: Pull) -> Pull:
        self._made.add((pull.candidate, pull.seed))
        return pull
