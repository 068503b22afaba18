"""Compares the product with versions without one part, by running generated repositories: the ablations of the
published system.

    python -m evaluation.ablation.switches [--budget 10] [--jobs 2] [--arms full,…] [--llm MODEL]

- without planner: the commands of the README's first block are run, and the metric is the last number printed. The
  other arms have the commands of a correct planner (with --llm: those of a model's plan).
- without knowledge: no techniques from a graph with names, places and weights: components come from the code alone.
- without worktrees: one tree for all runs, one after another; each run sees the files that earlier ones left.

Semantic coherence is the share of candidates whose component, place and mutation agree with the truth: the component is
one part of the method; all changes are in that part's lines; and a toggle gives the value of the method without that
part, for the same seed (other kinds have no reference value). Executability is the share of candidates that ran to a
metric. Time without training is the wall time minus the seconds of runs, divided by jobs."""

import argparse
import random
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.table import Table

from evaluation.ablation.one_tree import OneTree
from evaluation.ablation.repositories import SEEDS, Repository, write
from evaluation.inputs.command import run_command
from xkg.agents.ablation.campaign import Start, run_campaign
from xkg.agents.ablation.outcomes import Campaign, CandidateOutcome
from xkg.agents.ablation.questions import Questions
from xkg.agents.ablation.reproduction.plan import planned_task
from xkg.agents.ablation.reproduction.planner import plan
from xkg.agents.ablation.running import worktrees
from xkg.agents.ablation.running.operations import Operations
from xkg.agents.ablation.task import Task
from xkg.agents.workspace.starter import Starter, read_starter
from xkg.config import Settings
from xkg.errors import AnswerError, BaselineError
from xkg.sandbox.runner import Runner
from xkg.sandbox.select import runner_for

ARMS = ("full", "without planner", "without knowledge", "without worktrees")
_BLOCK = re.compile(r"```\n(.*?)```", re.DOTALL)
_LAST_NUMBER = r"([0-9.]+)\s*$:min"
_TOP = 5
_DRAWS = 1000
_EQUAL = 1e-6


@dataclass(frozen=True)
class Figures:
    """The figures of one arm on one repository, None where the baseline does not run. `right`: it ran, and measured the
    value that the method reports."""

    reproduced: float
    right: float
    acc5: float
    top1: float
    regret: float
    coherent: float | None
    executable: float | None
    effects: float | None
    cost: float | None
    runs: float | None
    beside: float | None


COLUMNS: Mapping[str, tuple[str, str]] = {
    "reproduced": ("baseline runs", ".2f"),
    "right": ("and is right", ".2f"),
    "acc5": ("Acc@5", ".2f"),
    "top1": ("top 1", ".2f"),
    "regret": ("regret", ".2f"),
    "coherent": ("coherent", ".2f"),
    "executable": ("executable", ".2f"),
    "effects": ("effects right", ".2f"),
    "cost": ("cost (s)", ".1f"),
    "runs": ("runs", ".1f"),
    "beside": ("not training (s)", ".1f"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evaluation.ablation.switches")
    parser.add_argument("--budget", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--llm")
    options = parser.parse_args()
    arms = options.arms.split(",")
    found: dict[str, list[Figures]] = {arm: [] for arm in arms}
    repositories = []
    with tempfile.TemporaryDirectory(prefix="xkg-switches-") as made:
        runner = runner_for(Settings().sandbox)
        for seed in SEEDS:
            folder = Path(made) / str(seed)
            repository = write(seed, folder / "repo")
            repositories.append(repository)
            starter = read_starter(str(folder / "repo"), folder / "cache")
            task = _planned(repository, starter, folder, options.llm)
            for arm in arms:
                given = _from_readme(starter) if arm == "without planner" else task
                wanted = None if given is None else given.model_copy(update={"budget": options.budget})
                found[arm].append(_figures(arm, repository, starter, wanted, folder / arm, runner, options.jobs))
                Console(stderr=True).print(
                    f"{seed} ({repository.readme}, {repository.leftovers}), {arm}: {found[arm][-1]}"
                )
    _print(found, repositories, options.budget, options.jobs, options.llm)


def _planned(repository: Repository, starter: Starter, folder: Path, model: str | None) -> Task | None:
    task = Task(repo=str(folder / "repo"), seconds=60)
    if model is None:
        update = {"run": repository.run, "setup": repository.setup, "metrics": (repository.metric,)}
        return task.model_copy(update=update)
    from xkg.llm.client import LanguageModel

    settings = Settings.model_validate({"kg": folder / "kg", "llm": {"model": model}})
    (folder / "kg").mkdir()
    workspace = worktrees.opened(folder / "planned", starter)
    with LanguageModel(settings.llm, settings.kg) as opened:
        questions = Questions(opened, "benchmark", Operations(folder / "planned"))
        try:
            return planned_task(task, plan(questions, task, workspace, worktrees.texts_of(workspace)))
        except AnswerError:
            return None


def _from_readme(starter: Starter) -> Task | None:
    block = _BLOCK.search(starter.files["README.md"].content.decode())
    if block is None:
        return None
    commands = " && ".join(line.strip() for line in block[1].splitlines() if line.strip())
    return Task(repo=starter.spec, run=commands, metrics=(_LAST_NUMBER,), seconds=60)


def _figures(
    arm: str, truth: Repository, starter: Starter, task: Task | None, folder: Path, runner: Runner, jobs: int
) -> Figures:
    jobs = 1 if arm == "without worktrees" else jobs
    ranked: list[str] = []
    campaign: Campaign | None = None
    began = time.monotonic()
    if task is not None:
        start = Start(
            task=task,
            starter=starter,
            folder=folder,
            runner=runner,
            packages=None,
            jobs=jobs,
            techniques=(lambda _: ()) if arm == "without knowledge" else (lambda _: truth.techniques()),
            elsewhere=OneTree(folder / "one-tree") if arm == "without worktrees" else None,
        )
        try:
            campaign = run_campaign(start)
            ranked = _ranked(campaign, truth)
        except BaselineError:
            pass
    wall = time.monotonic() - began
    right = campaign is not None and _close(campaign.baseline.values[0], truth.value(0))
    rest = [part.name for part in truth.parts if part.name not in ranked]
    random.Random(truth.seed).shuffle(rest)
    ranked += rest  # nothing is known about them: any order
    importance = {part.name: abs(part.change) for part in truth.parts}
    best = sorted(importance, key=lambda name: -importance[name])
    scored = {
        "reproduced": float(campaign is not None),
        "right": float(right),
        "acc5": len(set(ranked[:_TOP]) & set(best[:_TOP])) / _TOP,
        "top1": float(ranked[0] == best[0]),
        "regret": (importance[best[0]] - importance[ranked[0]]) / importance[best[0]],
    }
    if campaign is None:
        return Figures(**scored, coherent=None, executable=None, effects=None, cost=None, runs=None, beside=None)
    outcomes = campaign.outcomes
    runs = [*campaign.baseline.runs, *(run for o in outcomes for run in o.runs)]
    seconds = sum(run.seconds for run in runs)
    judged = [_effect_right(o, campaign, truth) for o in outcomes]
    return Figures(
        **scored,
        coherent=fmean(_coherent(o, campaign, truth) for o in outcomes),
        executable=fmean(o.failure is None for o in outcomes),
        effects=fmean(known) if (known := [each for each in judged if each is not None]) else None,
        cost=seconds,
        runs=len(runs),
        beside=wall - seconds / jobs,
    )


def _ranked(campaign: Campaign, truth: Repository) -> list[str]:
    components = {component.id: component for component in campaign.space.components}
    sizes: dict[str, float] = {}
    for outcome in campaign.outcomes:
        part = truth.part_of(components[outcome.candidate.component])
        if part is not None and outcome.effect is not None:
            sizes[part.name] = max(sizes.get(part.name, 0.0), abs(outcome.effect.change))
    return sorted(sizes, key=lambda name: -sizes[name])


def _coherent(outcome: CandidateOutcome, campaign: Campaign, truth: Repository) -> bool:
    component = next(c for c in campaign.space.components if c.id == outcome.candidate.component)
    part = truth.part_of(component)
    if part is None:
        return False
    if not all(any(line.holds(place) for line in part.lines) for place in outcome.candidate.places):
        return False
    if outcome.candidate.kind != "toggle" or not outcome.runs or outcome.runs[0].value is None:
        return True
    return _close(outcome.runs[0].value, truth.value(outcome.runs[0].seed, without=part.name))


def _effect_right(outcome: CandidateOutcome, campaign: Campaign, truth: Repository) -> bool | None:
    """Whether a toggle's measured change is the true one, within the noise of the seeds; None if the candidate is not a
    toggle."""
    component = next(c for c in campaign.space.components if c.id == outcome.candidate.component)
    part = truth.part_of(component)
    if part is None or outcome.effect is None or outcome.candidate.kind != "toggle":
        return None
    return abs(outcome.effect.change - part.change) <= 3 * truth.noise * (1 + abs(part.change))


def _close(a: float | None, b: float) -> bool:
    return a is not None and abs(a - b) <= _EQUAL * abs(b)


def _print(
    found: Mapping[str, Sequence[Figures]], repositories: Sequence[Repository], budget: int, jobs: int, llm: str | None
) -> None:
    table = Table("figure", *found)
    for name, (title, form) in COLUMNS.items():
        cells = []
        for figures in found.values():
            values = [value for each in figures if (value := getattr(each, name)) is not None]
            cells.append(_interval(values, form))
        table.add_row(title, *cells)
    console = Console(width=150)
    console.print(table)
    chance = fmean(_TOP / len(repository.parts) for repository in repositories)
    planner = f"plans by {llm}" if llm else "plans as one who reads rightly gives them (an upper bound)"
    console.print(
        f"{len(repositories)} repositories of seeds {SEEDS.start} to {SEEDS.stop - 1}, budget {budget}, {jobs} job(s) "
        f"(without worktrees 1), {planner}; means over repositories with 95 % intervals (bootstrap); figures from "
        f"'coherent' on over those whose baseline runs. Chance for Acc@5: {chance:.2f}."
    )


def _interval(values: Sequence[float], form: str) -> str:
    if not values:
        return "none"
    draw = random.Random(0)
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(_DRAWS))
    low, high = means[int(0.025 * _DRAWS)], means[int(0.975 * _DRAWS)]
    return f"{fmean(values):{form}} [{low:{form}}, {high:{form}}]"


if __name__ == "__main__":
    run_command(main)
