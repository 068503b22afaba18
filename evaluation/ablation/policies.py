"""Runs candidates of generated methods in the product's order and others, and scores the recommendations."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from evaluation.ablation.generator import Method
from xkg.agents.ablation.candidates import Candidate, Space
from xkg.agents.ablation.rounds.choice import Choice


def _in_turn(space: Space) -> list[Candidate]:
    return [each.candidate for each in Choice(space).next(len(space.candidates), ())]


def _without_knowledge(space: Space) -> list[Candidate]:
    equal = [component.model_copy(update={"weight": 0.5}) for component in space.components]
    return _in_turn(space.model_copy(update={"components": tuple(equal)}))


def _hierarchy(space: Space) -> list[Candidate]:
    """The components in hierarchy order, each with all of its candidates before the next."""
    ordered = sorted(space.components, key=lambda component: component.order)
    return [candidate for component in ordered for candidate in space.of(component.id)]


def _at_random(space: Space) -> list[Candidate]:
    shuffled = list(space.candidates)
    random.Random(str([candidate.description for candidate in shuffled])).shuffle(shuffled)
    return shuffled


ORDERS: dict[str, Callable[[Space], Sequence[Candidate]]] = {
    "in turn, by weight (the product's)": _in_turn,
    "in turn, without knowledge": _without_knowledge,
    "hierarchy order": _hierarchy,
    "random": _at_random,
}


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


def score(order: Callable[[Space], Sequence[Candidate]], method: Method, share: float) -> Score:
    """Runs this share of all candidates, each with one seed."""
    budget = max(1, round(share * method.configurations))
    baseline = fmean(method.baselines())
    found = {component.id: 0.0 for component in method.space.components}
    hours = 0.0
    for candidate in order(method.space)[:budget]:
        value = method.run(candidate.description)
        hours += method.hours[candidate.description]
        if value is not None:
            change = abs(value - baseline) / abs(baseline)
            found[candidate.component] = max(found[candidate.component], change)
    names = sorted(found)
    random.Random(method.seed).shuffle(names)  # components without results come last, in any order
    ranked = sorted(names, key=lambda name: -found[name])
    true = method.top(5)
    best = method.importance[true[0]]
    return Score(
        acc5=len(set(ranked[:5]) & set(true)) / 5,
        top1=float(ranked[0] == true[0]),
        top3=len(set(ranked[:3]) & set(true[:3])) / 3,
        regret=(best - method.importance[ranked[0]]) / best,
        hours=hours,
    )
