"""Tries candidates until the budget is spent. Builds and runs them, reruns them if more seeds or evidence are needed,
and compares them with the baseline."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

from xkg.agents.ablation.candidates import Candidate, Component, Replacement, Space
from xkg.agents.ablation.effects import Effect, effect, effect_of_one, outside, unchanged
from xkg.agents.ablation.failures import Failure
from xkg.agents.ablation.outcomes import Baseline, CandidateOutcome, RunOutcome
from xkg.agents.ablation.parsing import Mutated
from xkg.agents.ablation.report.rows import change
from xkg.agents.ablation.rounds.choice import Choice
from xkg.agents.ablation.running.mutations import Mutations
from xkg.agents.ablation.running.runs import Runs
from xkg.agents.ablation.running.slots import Slots

_MENDABLE: frozenset[Failure] = frozenset(
    ("does not apply", "refused", "shape", "empty data", "missing data", "missing package", "not in force",
     "removed API", "own error", "error",)
)  # fmt: skip
"""Failures that indicate a bad change and reveal nothing about the component."""
_CONSTANT = 3
_UNUSED = "the code is unused: the metric stayed the same with a value that ends the program when it is used"


@dataclass
class Trials:
    """Runs the trials in one campaign, in parallel while `slots` are free. `mended` returns a candidate that replaces a
    failed candidate, and is called once per candidate."""

    runs: Runs
    mutations: Mutations
    slots: Slots
    baseline: Baseline
    space: Space
    mended: Callable[[CandidateOutcome, Component], Candidate | None] | None
    notify: Callable[[str], None]
    _unused: set[tuple[Replacement, ...]] = field(default_factory=set)
    _again: dict[str, list[Future[RunOutcome]]] = field(default_factory=dict)

    def outcomes(self, choice: Choice) -> list[CandidateOutcome]:
        """Returns the outcomes of chosen candidates, up to the task's budget. A candidate that reveals nothing about
        its component (see `CandidateOutcome.tried`) does not count and is replaced with another candidate. The maximum
        number of candidates is twice the budget, or the number of candidates found by rules if that is larger."""
        budget, found = self.runs.task.budget, list[CandidateOutcome]()
        most = max(2 * budget, len(self.space.candidates))
        while room := min(budget - sum(outcome.tried for outcome in found), most - len(found)):
            picked = choice.next(room, with_effects(found, self.baseline))
            if not picked:
                break
            groups = _of_one_code(picked)
            started = [
                self.slots.start(partial(self._in_turn, [picked[i] for i in group], choice.round)) for group in groups
            ]
            done: dict[int, CandidateOutcome] = {}
            for group, run in zip(groups, started, strict=True):
                done.update(zip(group, run.result(), strict=True))
            found += [done[i] for i in range(len(picked))]
        return [self._with_all_seeds(outcome) for outcome in found]

    def _in_turn(self, picked: Sequence[Candidate], number: int) -> list[CandidateOutcome]:
        return [self._work(each, number) for each in picked]

    def _work(self, candidate: Candidate, number: int) -> CandidateOutcome:
        outcome = self._try(candidate, number)
        self.notify(f"round {number}: {_line(outcome, self.baseline)}")
        if self._is_notable(outcome):
            self._again[outcome.id] = [
                self.slots.start(partial(self.runs.run, outcome.candidate, seed), filler=True)
                for seed in self.runs.task.seeds[1:]
            ]
        return outcome

    def _is_notable(self, outcome: CandidateOutcome) -> bool:
        """Returns whether the first seed's value is outside the range of the baseline's values, or equals the
        baseline's value for that seed. Runs with other seeds may contradict either result."""
        if outcome.failure or self.baseline.one_seed:
            return False
        value = outcome.runs[0].value
        return value is not None and (value == self.baseline.values[0] or outside(self.baseline.values, value))

    def _with_all_seeds(self, outcome: CandidateOutcome) -> CandidateOutcome:
        again = self._again.get(outcome.id, ())
        for run in again:
            outcome = _with_run(outcome, run.result())
            if outcome.failure:
                break
        if again:
            self.notify(f"again with {len(outcome.runs) - 1} more seeds: {_line(outcome, self.baseline)}")
        return outcome

    def _try(self, candidate: Candidate, number: int) -> CandidateOutcome:
        outcome = self._tried(candidate, number)
        if self.mended is None or outcome.failure not in _MENDABLE:
            return outcome
        component = next(c for c in self.space.components if c.id == candidate.component)
        mended = self.mended(outcome, component)
        if mended is None:
            return outcome
        again = self._tried(mended, number)
        return again.model_copy(update={"mended": f"{outcome.failure}: {outcome.problem}"})

    def _tried(self, candidate: Candidate, number: int) -> CandidateOutcome:
        decided_by = {**self.runs.identity, "files": self.runs.files, **self.mutations.decided_by(candidate)}
        mutated = self.runs.operations.do("check", decided_by, Mutated, lambda: self.mutations.made(candidate))
        self.runs.changed[candidate.id] = mutated.places
        outcome = CandidateOutcome(
            candidate=candidate, round=number, commit=mutated.commit, diff=mutated.diff,
            failure=mutated.failure, problem=mutated.problem, measures=mutated.measures,
        )  # fmt: skip
        if mutated.failure:
            return outcome
        unused = {"failure": "not in force", "problem": _UNUSED}
        if candidate.probe in self._unused:  # another value for the same code showed that it is unused
            return outcome.model_copy(update=unused)
        outcome = _with_run(outcome, self.runs.run(candidate, self.runs.task.seeds[0]))
        value = outcome.runs[0].value
        says = not outcome.failure and (value == self.baseline.values[0] or self._is_notable(outcome))
        if not says or self._in_force(candidate):
            return outcome
        self._unused.add(candidate.probe)
        return outcome.model_copy(update=unused)

    def _in_force(self, candidate: Candidate) -> bool:
        """Returns whether a run uses the code that a candidate changes. The probe run ends as soon as the changed value
        is used, so a metric within the baseline's range shows that the code is unused. Returns true if the candidate
        has no probe."""
        value = self.runs.probed(candidate).value if candidate.probe else None
        return value is None or outside(self.baseline.values, value)


def _of_one_code(picked: Sequence[Candidate]) -> list[list[int]]:
    """Groups the indexes of candidates that change the same code. The candidates in a group run one after another,
    because the first may show that the code is unused."""
    groups: dict[object, list[int]] = {}
    for i, each in enumerate(picked):
        groups.setdefault(each.probe or i, []).append(i)
    return list(groups.values())


def with_effects(outcomes: Sequence[CandidateOutcome], baseline: Baseline) -> list[CandidateOutcome]:
    return [
        outcome if outcome.failure else outcome.model_copy(update={"effect": _effect(outcome, baseline)})
        for outcome in outcomes
    ]


def constant_note(outcomes: Sequence[CandidateOutcome]) -> str | None:
    """Returns a warning if every measured candidate yielded the baseline's value. In that case, the metric may not be
    able to show any effect."""
    effects = [outcome.effect for outcome in outcomes if outcome.effect is not None]
    if len(effects) < _CONSTANT or any(each.value != each.baseline for each in effects):
        return None
    return (
        f"the metric is the same for all {len(effects)} measured candidates: it may be constant or saturated, "
        "in which case it cannot show any effect; choose a different metric with --metric"
    )


def _effect(outcome: CandidateOutcome, baseline: Baseline) -> Effect:
    """Computes the effect relative to the whole baseline or, for a single run, to the baseline's run with the same
    seed. If all values equal the baseline's values for the same seeds, the metric has not changed, even if the values
    differ between seeds. With one seed, the noise is unknown."""
    values = [run.value for run in outcome.runs if run.value is not None]
    if baseline.one_seed:
        return effect(baseline.values[:1], values)
    by_seed = {run.seed: run.value for run in baseline.runs if run.value is not None}
    if all(by_seed.get(run.seed) == run.value for run in outcome.runs):
        return unchanged(values)
    if len(values) == 1:
        return effect_of_one(baseline.values, by_seed[outcome.runs[0].seed], values[0])
    return effect(baseline.values, values)


def _with_run(outcome: CandidateOutcome, run: RunOutcome) -> CandidateOutcome:
    failed: dict[str, object] = {}
    if run.value is None:
        failed = {"failure": run.failure, "problem": run.problem}
    elif run.reached is False:
        places = ", ".join(map(str, run.never_ran[:4]))
        failed = {"failure": "not in force", "problem": f"none of the changed lines ran ({places})"}
    written = (f"{path}, which its run overwrote or removed" for path in run.touched)
    measures = tuple(dict.fromkeys((*outcome.measures, *written)))
    return outcome.model_copy(update={"runs": (*outcome.runs, run), "measures": measures, **failed})


def _line(outcome: CandidateOutcome, baseline: Baseline) -> str:
    what = outcome.candidate.description
    if outcome.failure:
        return f"{what}: failed ({outcome.failure}: {outcome.problem})"
    found = _effect(outcome, baseline)
    of = "mean " if found.seeds > 1 else ""
    return f"{what}: {of}{found.value:.6g} ({change(found)})"
