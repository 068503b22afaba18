"""Prints means over generated methods, with 95% bootstrap intervals, for each candidate order and budget."""

import random
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evaluation.ablation.generator import DEVELOPMENT, FINAL, Method, generate
from evaluation.inputs.command import run_command
from evaluation.results.table import mean_with_interval
from xkg.agents.ablation.candidates import Candidate, Space
from xkg.agents.ablation.rounds.choice import Choice

BUDGETS = (0.1, 0.3, 0.6, 1.0)


def _in_turn(space: Space) -> list[Candidate]:
    return Choice(space).next(len(space.candidates), ())


def _without_knowledge(space: Space) -> list[Candidate]:
    equal = [component.model_copy(update={"weight": 0.5}) for component in space.components]
    return _in_turn(space.model_copy(update={"components": tuple(equal)}))


def _hierarchy(space: Space) -> list[Candidate]:
    """Returns all candidates in hierarchy order, grouped by component."""
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


def score(order: Callable[[Space], Sequence[Candidate]], method: Method, share: float) -> dict[str, float]:
    """Runs a fraction `share` of all candidates, with one seed each. `acc5` is the fraction of the five most important
    components that are among the five recommended; `top1` and `top3` are defined in the same way. `regret` is the
    importance lost by trusting the first recommendation, relative to the most important component. `hours` is the cost
    of the runs."""
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
    random.Random(method.seed).shuffle(names)  # put components without results last, in random order
    ranked = sorted(names, key=lambda name: -found[name])
    true = method.top(5)
    best = method.importance[true[0]]
    return {
        "acc5": len(set(ranked[:5]) & set(true)) / 5,
        "top1": float(ranked[0] == true[0]),
        "top3": len(set(ranked[:3]) & set(true[:3])) / 3,
        "regret": (best - method.importance[ranked[0]]) / best,
        "hours": hours,
    }


def main(*, final: Annotated[bool, typer.Option("--final", help="use the final measurement's seeds")] = False) -> None:
    seeds = FINAL if final else DEVELOPMENT
    methods = [generate(seed) for seed in seeds]
    chance = fmean(5 / len(method.space.components) for method in methods)
    console = Console(width=130)
    table = Table("order", "budget", "Acc@5", "top 1", "top 3", "simple regret", "device hours")
    for title, order in ORDERS.items():
        for share in BUDGETS:
            scores = [score(order, method, share) for method in methods]
            columns = [[each[name] for each in scores] for name in scores[0]]
            table.add_row(title, f"{share:.0%}", *map(mean_with_interval, columns), end_section=share == BUDGETS[-1])
    runs = fmean(method.configurations for method in methods)
    console.print(table)
    console.print(
        f"{len(methods)} methods of seeds {seeds.start} to {seeds.stop - 1}, {runs:.0f} candidates on average, "
        f"run once each. Acc@5 of a random answer: {chance:.2f} (5 / 15 to 5 / 9)."
    )


if __name__ == "__main__":
    run_command(main)
