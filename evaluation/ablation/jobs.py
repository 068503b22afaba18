"""Compares an ablation campaign with two jobs to one with a single job, and measures how much time it spends outside
runs.

    python -m evaluation.ablation.jobs [--seconds 4] [--budget 25] [--rounds 1] [--wait]
    python -m evaluation.ablation.jobs --repo ./repo --run "python train.py --seed {seed}" --metric "loss ([0-9.]+):min"

The two settings are measured alternately. Each setting starts with only the repository's packages installed, and uses
one thread per job, like every run in the sandbox. With `--wait`, the script waits instead of training, so that the
ratio depends only on the order of the runs, and not on the cores or on other load. Ideally, two jobs take half as long
as one."""

import tempfile
import time
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from evaluation.inputs.command import run_command
from xkg.agents.ablation.campaign import Start, run_campaign
from xkg.agents.ablation.outcomes import Campaign, RunOutcome
from xkg.agents.ablation.task import Task
from xkg.agents.workspace.files.starter import read_starter
from xkg.config import Settings
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.select import runner_for

ARMS = (1, 2)
_STEPS_A_SECOND = 2_000_000


def main(
    *,
    seconds: Annotated[float, typer.Option(help="approximate duration of one generated training run")] = 4,
    budget: int = 25,
    rounds: Annotated[int, typer.Option(help="how often each arm runs")] = 1,
    wait: Annotated[bool, typer.Option("--wait", help="wait instead of training")] = False,
    repo: str | None = None,
    run: str = "python train.py {seed}",
    metric: str = "error ([0-9.]+):min",
) -> None:
    console = Console(width=130)
    table = Table("jobs", "wall", "runs", "seconds of runs", "jobs busy", "beside the runs", "a candidate", "share")
    walls: dict[int, list[float]] = {jobs: [] for jobs in ARMS}
    with tempfile.TemporaryDirectory(prefix="xkg-jobs-") as made:
        folder = Path(made)
        if repo is None:
            write_training(folder / "repo", seconds, wait=wait)
        task = Task(repo=repo or str(folder / "repo"), run=run, metrics=(metric,), budget=budget)
        for number in range(rounds):
            for jobs in ARMS:
                campaign, wall = _timed(task, folder, f"{number}-{jobs}", jobs)
                walls[jobs].append(wall)
                table.add_row(*_row(campaign, jobs, wall))
    console.print(table)
    ratios = [one / two for one, two in zip(walls[1], walls[2], strict=True)]
    console.print(f"two jobs: {median(ratios):.2f} x one (aim: 1.7), in {len(ratios)} comparison(s)")


def write_training(folder: Path, seconds: float, *, wait: bool) -> None:
    """Writes a training script that takes about `seconds` seconds. The error varies between seeds, and twelve of the
    script's components matter."""
    folder.mkdir(parents=True)
    names = [f"part_{letter}" for letter in "abcdefghijkl"]
    scales = [0.98 - 0.02 * i for i in range(len(names))]
    lines = ["import random", "import sys", "import time", "", "SEED = int(sys.argv[1])", ""]
    for name, scale in zip(names, scales, strict=True):
        lines += ["", f"def {name}(x):", f"    return x * {scale:.2f}", ""]
    lines += ["", "def train():", "    draw = random.Random(SEED)", "    x = 8.0 + draw.gauss(0, 0.02)"]
    lines += [f"    time.sleep({seconds})"] if wait else _burning(int(seconds * _STEPS_A_SECOND))
    lines += [f"    x = {name}(x)" for name in names]
    lines += ["    return x", "", "", 'print("error", train())', ""]
    (folder / "train.py").write_text("\n".join(lines))


def _burning(steps: int) -> list[str]:
    # use a comprehension, because line tracing does not slow it down
    return [f"    burnt = sum([i * i % 7 for i in range({steps})])", "    assert burnt > 0"]


def _timed(task: Task, folder: Path, name: str, jobs: int) -> tuple[Campaign, float]:
    settings = Settings(kg=folder / "kg")
    runner = runner_for(settings.sandbox)
    started = time.monotonic()
    campaign = run_campaign(
        Start(
            task=task,
            starter=read_starter(task.repo, folder / "cache"),
            folder=folder / name,
            runner=runner,
            packages=UvEnvironments(settings.environment, runner),
            jobs=jobs,
        )
    )
    return campaign, time.monotonic() - started


def _row(campaign: Campaign, jobs: int, wall: float) -> list[str]:
    runs: list[RunOutcome] = [*campaign.baseline.runs, *(run for o in campaign.outcomes for run in o.runs)]
    # the traced run measures no candidate, so it counts as overhead
    seconds = sum(run.seconds for run in runs)
    beside = wall - seconds / jobs
    candidates = len(campaign.outcomes)
    return [
        str(jobs), f"{wall:.1f} s", str(len(runs)), f"{seconds:.1f} (mean {fmean(r.seconds for r in runs):.1f})",
        f"{seconds / wall / jobs:.0%}", f"{beside:.1f} s", f"{beside / candidates:.2f} s", f"{beside / wall:.0%}",
    ]  # fmt: skip


if __name__ == "__main__":
    run_command(main)
