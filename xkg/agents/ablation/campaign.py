"""A whole run: the baseline, the candidate space, rounds of candidates, and what they showed."""

import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from xkg.agents.ablation.bench import Bench
from xkg.agents.ablation.candidates import Candidate, Component, Place, Space
from xkg.agents.ablation.checks import refusal
from xkg.agents.ablation.effects import CRITICAL, effect, pooled_deviation
from xkg.agents.ablation.failures import Failure
from xkg.agents.ablation.mutation import MutationError, apply, unified_diff
from xkg.agents.ablation.operations import Operations, digest
from xkg.agents.ablation.outcomes import Baseline, Campaign, CandidateOutcome, RunOutcome
from xkg.agents.ablation.reproduce import baseline_of, notes_on
from xkg.agents.ablation.selection.bandit import Bandit
from xkg.agents.ablation.selection.baselines import Exhaustive, Heuristic, Random, Uniform
from xkg.agents.ablation.selection.history import Arm, Policy, Pull, Trial
from xkg.agents.ablation.task import PolicyName, Task
from xkg.agents.workspace.command import packages_for
from xkg.agents.workspace.starter import Starter
from xkg.agents.workspace.workspace import Workspace
from xkg.build.code.settings import Setting
from xkg.errors import InputError
from xkg.files import private_folder
from xkg.sandbox.runner import EnvironmentMaker, Runner
from xkg.value import Value

_HOUR = 3600.0
_TRACE_SECONDS, _TRACE_FACTOR = 30.0, 5.0


class Mutated(Value):
    """A candidate as a commit of its own workspace, or why it is none."""

    commit: str | None = None
    diff: str = ""
    failure: Failure | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Start:
    """What a campaign begins with. `techniques` gives components with places in the folder of the starter's files,
    `settings` the entries of its configuration files; `jobs` runs at a time, `elsewhere` on other machines. `notify`
    may be called from any thread."""

    task: Task
    starter: Starter
    folder: Path
    runner: Runner
    packages: EnvironmentMaker | None
    jobs: int = 1
    techniques: Callable[[Path], Sequence[Component]] = lambda _: ()
    settings: Callable[[Path], Sequence[Setting]] = lambda _: ()
    notify: Callable[[str], None] = lambda _: None
    elsewhere: Callable[[Workspace, int], RunOutcome] | None = None


def run_campaign(start: Start) -> Campaign:
    """The finished campaign. What was done before, under the same folder, is not done again.

    Raises `BaselineError` where the baseline does not run, `InputError` where nothing can be ablated, and what
    workspaces and commands raise."""
    return _Runner(start).campaign()


class _Runner:
    def __init__(self, start: Start) -> None:
        self._start, self._task = start, start.task
        self._began = time.monotonic()
        private_folder(start.folder)
        self._operations = Operations(start.folder)
        self._base = _workspace(start.folder / "baseline", start.starter)
        self._environment = packages_for(self._base, start.packages, None)
        self._bench = Bench(start.task, start.runner, self._environment)
        self._texts = _texts(self._base)
        self._files = digest(self._texts)
        self._protected: list[Place] = []

    def campaign(self) -> Campaign:
        start, task = self._start, self._task
        notes = list(start.starter.notes)
        if self._environment.missing:
            missing = "; ".join(f"{name}: {why}" for name, why in list(self._environment.missing.items())[:5])
            notes.append(f"packages that could not be had: {missing}")
        baseline = self._baseline()
        start.notify(f"baseline: {baseline.verdict}")
        space = self._space(baseline, notes)
        start.notify(f"{len(space.components)} components, {len(space.candidates)} candidates")
        if not space.candidates:
            raise InputError("nothing in this code can be ablated without a model: see what was left out, and why")
        outcomes = self._rounds(space, baseline)
        outcomes = self._confirm(outcomes, baseline)
        outcomes = self._with_effects(outcomes, baseline)
        for outcome in outcomes:
            shutil.rmtree(self._folder_of(outcome.candidate) / "tree", ignore_errors=True)
        return Campaign(
            id=start.folder.name,
            task=task,
            repository=start.starter.identity,
            commit=start.starter.base,
            baseline=baseline,
            space=space,
            outcomes=tuple(outcomes),
            runner=start.runner.name,
            environment=self._environment.hash,
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            wall_seconds=time.monotonic() - self._began,
            jobs=start.jobs,
            notes=tuple(notes),
        )

    def _baseline(self) -> Baseline:
        seeds = self._task.seeds

        def work(seed: int) -> RunOutcome:
            run = self._run(None, self._base, seed)
            value = f"{run.value:.6g}" if run.value is not None else f"failed ({run.failure})"
            self._start.notify(f"baseline, seed {run.seed}: {value} in {run.seconds:.1f} s")
            return run

        with ThreadPoolExecutor(self._start.jobs) as pool:
            runs = list(pool.map(work, seeds))
        return baseline_of(self._task, runs, self._environment.missing)

    def _space(self, baseline: Baseline, notes: list[str]) -> Space:
        from xkg.agents.ablation.space.python_source import PythonSource
        from xkg.agents.ablation.space.space import find_space

        sources = []
        for path, text in sorted(self._texts.items()):
            if path.endswith(".py"):
                try:
                    sources.append(PythonSource(path, text))
                except SyntaxError:
                    notes.append(f"{path} does not parse as Python 3, and was left out")
        paths = [source.path for source in sources]
        seed = self._task.seeds[0]
        # Counting lines slows loops in Python tenfold; others hardly.
        limit = min(self._task.seconds, _TRACE_SECONDS + _TRACE_FACTOR * baseline.seconds)
        traced = self._operations.do(
            "trace", self._inputs(None, seed), RunOutcome, lambda: self._bench.run(self._base, seed, paths, limit)
        )
        executed = None
        if traced.executed and traced.value is not None:
            executed = {path: frozenset(lines) for path, lines in traced.executed.items()}
        else:
            notes.append("which lines the baseline runs is not known: the traced run did not end")
        space, self._protected = find_space(
            sources,
            self._start.settings(self._base.tree),
            self._texts,
            self._start.techniques(self._base.tree),
            given=_options(self._task),
            metric_keys=_metric_keys(self._task),
            executed=executed,
        )
        options = sorted({f"--{o.name}" for o in space.left_out if o.reason == "the random seed"})
        notes.extend(notes_on(self._task, baseline, options))
        if self._task.only:
            space = _only(space, self._task.only)
        return space

    def _rounds(self, space: Space, baseline: Baseline) -> list[CandidateOutcome]:
        task = self._task
        arms = [
            Arm(id=c.id, candidates=tuple(k.id for k in space.of(c.id)), weight=c.weight, order=c.order)
            for c in space.components
        ]
        by_id = {candidate.id: candidate for candidate in space.candidates}
        policy = make_policy(task.policy, task)
        mean = sum(baseline.values) / len(baseline.values)
        rounds = -(-task.budget // task.places)
        trials: list[Trial] = []
        outcomes: list[CandidateOutcome] = []
        with ThreadPoolExecutor(self._start.jobs) as pool:
            for i in range(rounds):
                places = min(task.places, task.budget - len(trials))
                pulls = policy.choose(arms, trials, places, i / rounds)
                if not pulls:
                    break

                def work(pull: Pull, number: int = i + 1) -> CandidateOutcome:
                    outcome = self._try(by_id[pull.candidate], number)
                    self._start.notify(f"round {number}/{rounds}: {_line(outcome, mean)}")
                    return outcome

                made = list(pool.map(work, pulls))
                trials += [_trial(pull, outcome, mean) for pull, outcome in zip(pulls, made, strict=True)]
                outcomes += made
        return outcomes

    def _try(self, candidate: Candidate, number: int) -> CandidateOutcome:
        mutated = self._operations.do(
            "mutate", {**self._identity(), "candidate": candidate.id}, Mutated, lambda: self._mutate(candidate)
        )
        outcome = CandidateOutcome(
            candidate=candidate, round=number, commit=mutated.commit, diff=mutated.diff,
            failure=mutated.failure, problem=mutated.problem,
        )  # fmt: skip
        return outcome if mutated.failure else self._with_run(outcome, self._task.seeds[0])

    def _with_run(self, outcome: CandidateOutcome, seed: int) -> CandidateOutcome:
        run = self._run(outcome.candidate, None, seed)
        failed = {} if run.value is not None else {"failure": run.failure, "problem": run.problem}
        return outcome.model_copy(update={"runs": (*outcome.runs, run), **failed})

    def _mutate(self, candidate: Candidate) -> Mutated:
        before = {r.path: self._texts[r.path] for r in candidate.replacements if r.path in self._texts}
        try:
            after = apply(candidate.replacements, self._texts)
        except MutationError as error:
            return Mutated(failure="does not apply", problem=str(error))
        diff = unified_diff(before, after)
        problem = refusal(candidate, before, after, self._protected)
        if problem is not None:
            return Mutated(diff=diff, failure="refused", problem=problem)
        folder = self._folder_of(candidate)
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed here
        workspace = _workspace(folder, self._start.starter)
        version = workspace.edit(after, f"Ablate: {candidate.description}")
        return Mutated(commit=version.commit, diff=diff)

    def _confirm(self, outcomes: Sequence[CandidateOutcome], baseline: Baseline) -> list[CandidateOutcome]:
        """What changed the metric by 5 % or more with the first seed is run with the others too."""
        mean = sum(baseline.values) / len(baseline.values)

        def confirmed(outcome: CandidateOutcome) -> CandidateOutcome:
            first = outcome.runs[0].value if outcome.runs else None
            if first is None or baseline.exact or abs(first - mean) < CRITICAL * (abs(mean) or 1.0):
                return outcome
            for seed in self._task.seeds[1:]:
                outcome = self._with_run(outcome, seed)
                if outcome.failure:
                    break
            self._start.notify(f"again with {len(outcome.runs) - 1} more seeds: {_line(outcome, mean)}")
            return outcome

        with ThreadPoolExecutor(self._start.jobs) as pool:
            return list(pool.map(confirmed, outcomes))

    def _with_effects(self, outcomes: Sequence[CandidateOutcome], baseline: Baseline) -> list[CandidateOutcome]:
        groups = [[run.value for run in o.runs if run.value is not None] for o in outcomes]
        pooled = pooled_deviation([list(baseline.values), *groups]) if len(baseline.values) < 3 else None
        return [
            outcome.model_copy(update={"effect": effect(baseline.values, values, pooled)})
            if values and not outcome.failure
            else outcome
            for outcome, values in zip(outcomes, groups, strict=True)
        ]

    def _run(self, candidate: Candidate | None, workspace: Workspace | None, seed: int) -> RunOutcome:
        def work() -> RunOutcome:
            assert workspace is not None or candidate is not None
            opened = workspace or Workspace.open(self._folder_of(candidate))  # type: ignore[arg-type]
            return (self._start.elsewhere or self._bench.run)(opened, seed)

        return self._operations.do("run", self._inputs(candidate, seed), RunOutcome, work)

    def _identity(self) -> dict[str, object]:
        return {"repository": self._start.starter.identity, "files": self._files}

    def _inputs(self, candidate: Candidate | None, seed: int) -> dict[str, object]:
        task = self._task
        return {
            **self._identity(),
            "candidate": candidate.id if candidate else None,
            "command": task.command(seed),
            "metrics": list(task.metrics),
            "seed": seed,
            "data": {name: str(place) for name, place in task.data.items()},
            "limits": [task.seconds, task.memory_mb, task.disk_mb],
            "environment": self._environment.hash,
            "runner": self._start.runner.name,
        }

    def _folder_of(self, candidate: Candidate) -> Path:
        return self._start.folder / "candidates" / candidate.id


def make_policy(name: PolicyName, task: Task) -> Policy:
    policies: Mapping[PolicyName, Callable[[], Policy]] = {
        "bandit": lambda: Bandit(task.bandit),
        "uniform": Uniform,
        "heuristic": Heuristic,
        "random": Random,
        "exhaustive": Exhaustive,
    }
    return policies[name]()


def _trial(pull: Pull, outcome: CandidateOutcome, mean: float) -> Trial:
    value = outcome.runs[0].value if outcome.runs else None
    change = None if value is None else (value - mean) / (abs(mean) or 1.0)
    return Trial(pull=pull, change=change, cost=outcome.seconds / _HOUR)


def _line(outcome: CandidateOutcome, mean: float) -> str:
    what = outcome.candidate.description
    if outcome.failure:
        return f"{what}: failed ({outcome.failure}: {outcome.problem})"
    values = [run.value for run in outcome.runs if run.value is not None]
    value = sum(values) / len(values)
    return f"{what}: {value:.6g} ({(value - mean) / (abs(mean) or 1.0):+.1%})"


def _workspace(folder: Path, starter: Starter) -> Workspace:
    if (folder / "workspace.json").exists():
        workspace = Workspace.open(folder)
        if workspace.identity == starter.identity:
            return workspace
        shutil.rmtree(folder)
    return Workspace.create(folder, starter)


def _texts(workspace: Workspace) -> dict[str, str]:
    """Files that are UTF-8, exactly."""
    texts = {}
    for path, file in workspace.files.items():
        try:
            texts[path] = file.content.decode()
        except UnicodeDecodeError:
            continue
    return texts


def _options(task: Task) -> list[str]:
    words = " ".join(filter(None, (task.setup, task.run, task.evaluate))).split()
    return [word.partition("=")[0] for word in words if word.startswith("-")]


def _metric_keys(task: Task) -> list[str]:
    """Texts that only the code of the metric holds: the file's name, the name of the value, the words of a pattern."""
    keys: list[str] = []
    for metric in (task.metric,):
        if metric.path is not None:
            keys += [metric.path.rpartition("/")[2], metric.key.rpartition(".")[2]]
        else:
            words = max(_plain_words(metric.key), key=len, default="")
            keys.append(words)
    return [key for key in keys if len(key) > 2]


def _plain_words(pattern: str) -> list[str]:
    return [run.strip() for run in re.findall(r"[A-Za-z][A-Za-z0-9 _@-]*+", pattern)]


def _only(space: Space, names: Sequence[str]) -> Space:
    wanted = [name.casefold() for name in names]
    components = tuple(
        c for c in space.components if any(w in c.name.casefold() or w == c.id.casefold() for w in wanted)
    )
    ids = {c.id for c in components}
    if not ids:
        raise InputError(f"no component is named {', '.join(names)}; the report of a run without --only lists them")
    return space.model_copy(
        update={"components": components, "candidates": tuple(c for c in space.candidates if c.component in ids)}
    )
