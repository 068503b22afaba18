"""Summarises the baseline, which runs the unchanged command once per seed. Effects are compared with the spread of
these runs (the noise)."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from xkg.agents.ablation.candidates import COMMAND, LeftOut, Place
from xkg.agents.ablation.effects import CRITICAL, relative_noise
from xkg.agents.ablation.failures import Failure, advice_on
from xkg.agents.ablation.outcomes import Baseline, Repair, RunOutcome
from xkg.agents.ablation.space.exclusions import LENGTH
from xkg.agents.ablation.task import SEED, Task
from xkg.errors import BaselineError

_OF_PACKAGES: frozenset[Failure] = frozenset({"error", "removed API", "missing package", "Python 2"})


def baseline_of(
    task: Task,
    runs: Sequence[RunOutcome],
    missing: Mapping[str, str],
    causes: Sequence[str] = (),
    *,
    notes: Sequence[str] = (),
    unknown: str = "",
    varied: Sequence[str] = (),
) -> Baseline:
    """Summarises the baseline's runs. `missing` maps each package that could not be installed to the reason. `causes`
    lists known causes of the failure, and `notes` describe limitations of the interpreter and packages. `unknown` says
    why equal values may all come from the same seed, and `varied` lists the seeds that differ between runs. Raises
    `BaselineError` with the cause if a run failed."""
    for run in runs:
        if run.value is None:
            kind = run.failure or "error"
            # A problem that already suggests a remedy with specific paths needs no generic remedy.
            advice = "" if "(here: " in (run.problem or "") else advice_on(kind, run.output_end)
            reasons = [f"{name}: {why}" for name, why in missing.items() if name in (run.problem or "")]
            if advice and kind == "missing package" and reasons:
                known = "no package" not in reasons[0]
                advice = (
                    f"{reasons[0]}; {advice if known else 'add the package that provides it, as in --with PACKAGE'}"
                )
            lacks = [note for note in notes if kind in _OF_PACKAGES]
            said = f"the baseline does not run ({kind}, seed {run.seed}): {run.problem}"
            raise BaselineError("; ".join(filter(None, [said, *causes[:4], *lacks[:3], advice])))
    values = [run.value for run in runs if run.value is not None]
    mean, noise = fmean(values), relative_noise(values)
    verdict = f"{mean:.6g}; no claimed value to compare with"
    if task.claimed is not None:
        off = (mean - task.claimed) / (abs(task.claimed) or 1.0)
        verdict = (
            f"reproduced: {mean:.6g}, claimed {task.claimed:g} ({off:+.1%}, within {task.tolerance:.0%})"
            if abs(off) <= task.tolerance
            else f"runs, but is off by {off:+.1%}: {mean:.6g}, claimed {task.claimed:g}"
        )
    equal = len(set(values)) == 1
    one_seed = "it was run with one seed" if len(values) == 1 else unknown if equal else ""
    return Baseline(
        runs=tuple(runs), verdict=verdict, noise=None if one_seed else noise,
        exact=equal and not one_seed, one_seed=one_seed, varied=tuple(varied),
    )  # fmt: skip


def takes_seed(task: Task) -> bool:
    """Returns whether one of the task's commands contains the seed placeholder."""
    return SEED in "".join(filter(None, (task.setup, task.run, task.evaluate)))


def notes_on(task: Task, baseline: Baseline) -> list[str]:
    """Returns notes about the baseline's seeds that help readers interpret the results."""
    notes = []
    if len(baseline.values) < 4:
        notes.append(f"the baseline was run with {len(baseline.values)} seed(s); a claim needs at least four")
    if baseline.varied:
        notes.append(f"runs differ in the seeds set in the code: {'; '.join(baseline.varied[:8])}")
    elif not takes_seed(task):
        notes.append(f"the command has no {SEED}, and the code sets no seed: runs repeat the same setting")
    if baseline.one_seed:
        notes.append(f"one seed, noise unknown: {baseline.one_seed}; mark the seed in --run as {SEED}")
    return notes


_QUANTILES = 1.96 + 0.84
"""The sum of the normal quantiles for 80% power and a 5% significance level."""
_PRACTICAL = 100
"""The maximum number of seeds to recommend."""


def seeds_needed(noise: float) -> int:
    """Returns the number of seeds that the baseline and the candidate each need to detect a 5% effect. `noise` is the
    relative noise of one run."""
    return math.ceil(2 * (_QUANTILES * noise / CRITICAL) ** 2)


def noise_note(task: Task, baseline: Baseline, left_out: Sequence[LeftOut]) -> str | None:
    """Returns advice if the baseline's noise would hide a 5% effect, and None otherwise."""
    if baseline.noise is None or (needed := seeds_needed(baseline.noise)) <= len(task.seeds):
        return None
    lengths = [each for each in left_out if each.reason == LENGTH]
    given = {_setting(each) for each in lengths if each.place.path == COMMAND}
    longer = [f"{each.name} ({each.place})" for each in lengths if _setting(each) not in given]
    way = f"raise {', '.join(longer[:3])}" if longer else "choose a longer or more stable setting"
    seeds = f"use about {needed} seeds (--seed), or"
    if needed > _PRACTICAL:
        seeds = "that takes more seeds than are practical, so"
    return (
        f"the baseline varies by {baseline.noise:.1%} from run to run, so {len(task.seeds)} seeds rarely show "
        f"an effect of 5 %; {seeds} {way}"
    )


def _setting(length: LeftOut) -> str:
    """Returns the name that an option, a field and a parameter share if they represent the same setting."""
    return length.name.rpartition(".")[2].replace("-", "_")


def in_metric(repair: Repair, protected: Sequence[Place], texts: Mapping[str, str]) -> Repair:
    """Adds the protected lines that a repair changed to its `in_metric`."""
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
