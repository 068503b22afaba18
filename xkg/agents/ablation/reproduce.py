"""The baseline: the command as it is, once a seed; its spread is the noise that effects are judged against."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from xkg.agents.ablation.effects import relative_noise
from xkg.agents.ablation.failures import Failure
from xkg.agents.ablation.outcomes import Baseline, RunOutcome
from xkg.agents.ablation.task import SEED, Task
from xkg.errors import BaselineError

ADVICE: dict[Failure, str] = {
    "missing package": "name it in the repository's requirements, or raise environment.max_mb where it is too large",
    "Python 2": "convert it to Python 3 first",
    "removed API": "pin the dependency to a version of the repository's time in its requirements",
    "missing data": "mount its folder with --data PATH=FOLDER",
    "broken checkpoint": "fetch the whole file (git lfs pull), then name its folder with --data",
    "empty data": "check the folder that --data names: the loader found nothing in it",
    "needs the network": "fetch what it downloads beforehand, and name the folder with --data",
    "needs a terminal": "give a command that asks nothing",
    "time": "raise --seconds, or train for fewer epochs",
    "memory": "raise --memory-mb, or take a smaller batch",
    "disk": "raise --disk-mb, or write less",
    "no metric": "check --metric against the file or the output that the command leaves",
    "not a number": "training diverges, or the metric's pattern matches something else",
}


def baseline_of(task: Task, runs: Sequence[RunOutcome], missing: Mapping[str, str]) -> Baseline:
    """What the runs say. `missing` packages could not be had, with the reasons. Raises `BaselineError` with the cause
    where a run failed."""
    for run in runs:
        if run.value is None:
            kind = run.failure or "error"
            advice = ADVICE.get(kind, "make the command run by itself first")
            reasons = [f"{name}: {why}" for name, why in missing.items() if name in (run.problem or "")]
            if kind == "missing package" and reasons:
                advice = f"{reasons[0]}; {advice}"
            raise BaselineError(f"the baseline does not run ({kind}, seed {run.seed}): {run.problem}; {advice}")
    values = [run.value for run in runs if run.value is not None]
    mean, noise = fmean(values), relative_noise(values)
    reproduced = off = None
    verdict = f"{mean:.6g}; no claimed value to compare with"
    if task.claimed is not None:
        off = (mean - task.claimed) / (abs(task.claimed) or 1.0)
        reproduced = abs(off) <= task.tolerance
        verdict = (
            f"reproduced: {mean:.6g}, claimed {task.claimed:g} ({off:+.1%}, within {task.tolerance:.0%})"
            if reproduced
            else f"runs, but is off by {off:+.1%}: {mean:.6g}, claimed {task.claimed:g}"
        )
    exact = len(values) > 1 and len(set(values)) == 1
    return Baseline(runs=tuple(runs), verdict=verdict, reproduced=reproduced, off=off, noise=noise, exact=exact)


def notes_on(task: Task, baseline: Baseline, seed_options: Sequence[str]) -> list[str]:
    """What a reader of the results must know of the baseline."""
    notes = []
    if len(baseline.values) < 3:
        notes.append(
            f"the baseline was run with {len(baseline.values)} seed(s): three are needed to say how much it varies"
        )
    if SEED not in "".join(filter(None, (task.setup, task.run, task.evaluate))):
        hint = f" ({', '.join(seed_options)} would take one)" if seed_options else ""
        notes.append(f"the command takes no {SEED}, so that runs are repeats of one setting{hint}")
    if baseline.noise is not None and baseline.noise > 0.05:
        notes.append(
            f"the baseline varies by {baseline.noise:.1%} from seed to seed: effects of 5 % cannot be seen, give more "
            "seeds or longer training"
        )
    return notes
