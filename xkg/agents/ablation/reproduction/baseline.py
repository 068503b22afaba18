"""The baseline: the command as it is, once a seed; its spread is the noise that effects are judged against."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from xkg.agents.ablation.candidates import Place
from xkg.agents.ablation.effects import relative_noise
from xkg.agents.ablation.failures import ADVICE
from xkg.agents.ablation.outcomes import Baseline, Repair, RunOutcome
from xkg.agents.ablation.task import SEED, Task
from xkg.errors import BaselineError


def baseline_of(
    task: Task, runs: Sequence[RunOutcome], missing: Mapping[str, str], causes: Sequence[str] = ()
) -> Baseline:
    """What the runs say. `missing` packages could not be had, with the reasons; `causes` are what is known of why it
    does not run. Raises `BaselineError` with the cause where a run failed."""
    for run in runs:
        if run.value is None:
            kind = run.failure or "error"
            advice = ADVICE.get(kind, "make the command run by itself first")
            reasons = [f"{name}: {why}" for name, why in missing.items() if name in (run.problem or "")]
            if kind == "missing package" and reasons:
                advice = f"{reasons[0]}; {advice}"
            advice = "; ".join([*causes[:4], advice])
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


def in_metric(repair: Repair, protected: Sequence[Place], texts: Mapping[str, str]) -> Repair:
    """The repair with those of its lines that compute the metric, beside the parts that the fingerprint names."""
    added: dict[str, set[str]] = {}
    path = ""
    for line in repair.diff.splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif line.startswith("+") and line[1:].strip():
            added.setdefault(path, set()).add(line[1:])
    own = [
        str(place)
        for place in protected
        if added.get(place.path, set()).intersection(
            texts[place.path].split("\n")[place.start_line - 1 : place.end_line]
        )
    ]
    return repair.model_copy(update={"in_metric": tuple(dict.fromkeys([*repair.in_metric, *own]))})
