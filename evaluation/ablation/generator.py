"""Generates artificial methods, which are used to compare the orders in which candidates are tried. The true importance
of each component is known. Some components are inert and some interact. Runs have noise, and each run has a cost. A
seed determines the whole method.

A method has 9 to 15 components in a two-level hierarchy, each with 2 to 4 candidates. About a third of the components
are inert: they change the metric by less than 0.5%. The other components change the metric by 2 to 40% (log-uniform).
Two pairs interact like redundant parts: while one part is present, half of the other's effect is hidden. A candidate
that switches a component off reveals its full importance; one that scales it reveals only part of that. The noise of a
run is 0.5 to 4% of the metric, and a run costs 0.02 to 2 device hours. 6% of the candidates fail. Prior weights and
hierarchy order correlate with the truth, but far from perfectly.

`DEVELOPMENT` contains the seeds used to choose an order. The seeds in `FINAL` are run only once."""

import math
import random
from dataclasses import dataclass

from xkg.agents.ablation.candidates import Candidate, Component, Replacement, Space

DEVELOPMENT = range(1000, 1050)
FINAL = range(7000, 7050)
SEEDS = 3
_KINDS = (("toggle", 1.0), ("scale .5", 0.5), ("replace", 0.7), ("scale 2", 0.3))


@dataclass(frozen=True)
class Method:
    """A generated method. `importance` maps each component to the largest relative change in the metric by any of its
    candidates, without noise. `changes` maps each candidate to its signed change, or to None if the candidate fails.
    `hours` maps each candidate to the cost of one run."""

    space: Space
    importance: dict[str, float]
    changes: dict[str, float | None]
    hours: dict[str, float]
    noise: float
    baseline: float
    seed: int

    @property
    def configurations(self) -> int:
        return len(self.changes)

    def run(self, candidate: str) -> float | None:
        """Returns the metric from one run, or None if the run fails. The same candidate always has the same outcome."""
        change = self.changes[candidate]
        if change is None:
            return None
        return self.baseline * (1 + change) + self._noise(f"{candidate}:0")

    def baselines(self) -> list[float]:
        return [self.baseline + self._noise(f"baseline:{seed}") for seed in range(SEEDS)]

    def top(self, k: int) -> list[str]:
        return sorted(self.importance, key=lambda component: -self.importance[component])[:k]

    def _noise(self, run: str) -> float:
        return random.Random(f"{self.seed}:{run}").gauss(0, self.noise * self.baseline)


def generate(seed: int) -> Method:
    draw = random.Random(seed)
    names = [f"c{i:02}" for i in range(draw.randint(9, 15))]
    effects = {name: _effect(draw) for name in names}
    redundant = draw.sample(names, 4)
    for name in redundant:
        effects[name] *= 0.5
    changes: dict[str, float | None] = {}
    hours: dict[str, float] = {}
    candidates: dict[str, list[str]] = {}
    for name in names:
        hour = math.exp(draw.uniform(math.log(0.02), math.log(2)))
        for kind, share in _KINDS[: draw.randint(2, 4)]:
            candidate = f"{name} {kind}"
            candidates.setdefault(name, []).append(candidate)
            part = effects[name] * share * draw.uniform(0.7, 1.0)
            changes[candidate] = None if draw.random() < 0.06 else part
            hours[candidate] = hour * draw.uniform(0.8, 1.2)
    importance = {name: max(abs(changes[c] or 0.0) for c in candidates[name]) for name in names}
    weights, positions = known_beforehand(draw, names, importance, 0.5), known_beforehand(draw, names, importance, 0.3)
    order = sorted(names, key=lambda name: -positions[name])
    components = tuple(
        Component(id=name, name=name, places=(), weight=weights[name], order=order.index(name))
        for name in draw.sample(names, len(names))
    )
    space = Space(
        components=components, candidates=tuple(_candidate(c.id, k) for c in components for k in candidates[c.id])
    )
    noise = draw.uniform(0.005, 0.04)
    return Method(space, importance, changes, hours, noise, draw.uniform(0.1, 10), seed)


def _candidate(component: str, name: str) -> Candidate:
    return Candidate(
        component=component, kind="toggle", value=name, baseline_value="", places=(), description=name,
        replacements=(Replacement(path=name, start=0, end=0, old="", new=name),),
    )  # fmt: skip


def _effect(draw: random.Random) -> float:
    if draw.random() < 0.35:
        return draw.uniform(-0.005, 0.005)
    size = math.exp(draw.uniform(math.log(0.02), math.log(0.4)))
    return size if draw.random() < 0.8 else -size


def known_beforehand(
    draw: random.Random, names: list[str], importance: dict[str, float], correlation: float
) -> dict[str, float]:
    """Returns a number from 0 to 1 for each name. `correlation` is the rank correlation between these numbers and the
    importance values."""
    ranks = sorted(names, key=lambda name: importance[name])
    exact = {name: (ranks.index(name) + 0.5) / len(names) for name in names}
    loose = math.sqrt(1 - correlation**2)
    mixed = {name: correlation * (exact[name] - 0.5) + loose * (draw.random() - 0.5) for name in names}
    return {name: min(1.0, max(0.0, 0.5 + value)) for name, value in mixed.items()}
