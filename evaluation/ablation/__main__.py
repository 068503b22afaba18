"""Prints, for each order of candidates and budget, means over generated methods with 95 % bootstrap intervals."""

import argparse
import random
from collections.abc import Sequence
from statistics import fmean

from rich.console import Console
from rich.table import Table

from evaluation.ablation.generator import DEVELOPMENT, FINAL, generate
from evaluation.ablation.policies import ORDERS, score
from evaluation.inputs.command import run_command

BUDGETS = (0.1, 0.3, 0.6, 1.0)
_DRAWS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evaluation.ablation", description=__doc__)
    parser.add_argument("--final", action="store_true", help="the seeds that are opened once")
    options = parser.parse_args()
    seeds = FINAL if options.final else DEVELOPMENT
    methods = [generate(seed) for seed in seeds]
    chance = fmean(5 / len(method.space.components) for method in methods)
    console = Console(width=130)
    table = Table("order", "budget", "Acc@5", "top 1", "top 3", "simple regret", "device hours")
    for name, order in ORDERS.items():
        for share in BUDGETS:
            scores = [score(order, method, share) for method in methods]
            columns = [[getattr(s, field) for s in scores] for field in ("acc5", "top1", "top3", "regret", "hours")]
            table.add_row(name, f"{share:.0%}", *map(_interval, columns), end_section=share == BUDGETS[-1])
    runs = fmean(method.configurations for method in methods)
    console.print(table)
    console.print(
        f"{len(methods)} methods of seeds {seeds.start} to {seeds.stop - 1}, {runs:.0f} candidates on average, "
        f"run once each. Acc@5 of a random answer: {chance:.2f} (5 / 15 to 5 / 9)."
    )


def _interval(values: Sequence[float]) -> str:
    draw = random.Random(0)
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(_DRAWS))
    return f"{fmean(values):.2f} [{means[int(0.025 * _DRAWS)]:.2f}, {means[int(0.975 * _DRAWS)]:.2f}]"


if __name__ == "__main__":
    run_command(main)
