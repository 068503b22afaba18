"""A whole run: the baseline, the candidate space, rounds of candidates, and what they showed."""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from xkg.agents.ablation import parsing
from xkg.agents.ablation.candidates import Candidate, Component, Place, Space
from xkg.agents.ablation.changed_code import ChangedPlace
from xkg.agents.ablation.effects import CRITICAL, Effect, effect, pooled_deviation, unchanged
from xkg.agents.ablation.failures import Failure
from xkg.agents.ablation.outcomes import Baseline, Campaign, CandidateOutcome, Repair, RunOutcome
from xkg.agents.ablation.questions import Questions
from xkg.agents.ablation.report.rows import percent
from xkg.agents.ablation.reproduction.baseline import baseline_of, in_metric, notes_on
from xkg.agents.ablation.reproduction.executor import Executor
from xkg.agents.ablation.reproduction.plan import planned_task
from xkg.agents.ablation.reproduction.planner import plan, readme
from xkg.agents.ablation.roles.functions import FunctionStore
from xkg.agents.ablation.roles.proposals import Written
from xkg.agents.ablation.roles.team import Scene, Team
from xkg.agents.ablation.rounds.candidates_for_arms import Listed, Picked, Proposals
from xkg.agents.ablation.rounds.fill import make_policy
from xkg.agents.ablation.rounds.overlapping import start_rounds
from xkg.agents.ablation.running import worktrees
from xkg.agents.ablation.running.bench import Bench
from xkg.agents.ablation.running.mutations import Mutated, Mutations
from xkg.agents.ablation.running.on_engine import Elsewhere
from xkg.agents.ablation.running.operations import Operations, digest
from xkg.agents.ablation.running.slots import Slots
from xkg.agents.ablation.selection.history import Pull, Trial
from xkg.agents.ablation.space.from_task import metric_keys, only, options_of
from xkg.agents.ablation.task import Task
from xkg.agents.parsers import agent_parsers
from xkg.agents.workspace.command import Left, packages_for
from xkg.agents.workspace.measured_run import Origin
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.starter import SUBMODULE, Starter
from xkg.agents.workspace.workspace import Workspace
from xkg.build.code.settings import Setting
from xkg.build.parsing.parsers import Parsers
from xkg.errors import InputError
from xkg.files import private_folder, write_whole
from xkg.llm.client import LanguageModel
from xkg.sandbox.isolation.gpus import Taken, gpus
from xkg.sandbox.runner import Environment, EnvironmentMaker, Runner

_HOUR = 3600.0
_TRACE_SECONDS, _TRACE_FACTOR = 30.0, 5.0
_MENDABLE: frozenset[Failure] = frozenset(
    {
        "does not apply",
        "refused",
        "shape",
        "empty data",
        "missing data",
        "missing package",
        "never ran",
        "removed API",
        "error",
    }
)
"""Failures that say that the change was made badly, and nothing of the component."""


@dataclass(frozen=True)
class Start:
    """What a campaign begins with. `techniques` gives components with places in the folder of the starter's files,
    `settings` the entries of its configuration files; `jobs` runs at a time, `elsewhere` on other machines. With a
    `model`, what it describes of functions is stored under `functions`. `notify` may be called from any thread."""

    task: Task
    starter: Starter
    folder: Path
    runner: Runner
    packages: EnvironmentMaker | None
    jobs: int = 1
    techniques: Callable[[Path], Sequence[Component]] = lambda _: ()
    settings: Callable[[Path], Sequence[Setting]] = lambda _: ()
    notify: Callable[[str], None] = lambda _: None
    elsewhere: Elsewhere | None = None
    model: LanguageModel | None = None
    functions: Path | None = None
    parsers: Parsers = field(default_factory=agent_parsers)


def ledger_name(folder: Path) -> str:
    """What the ledger of the language model calls a run."""
    return f"run:{folder.name}"


def run_campaign(start: Start) -> Campaign:
    """The finished campaign. What was done before, under the same folder, is not done again.

    Raises `BaselineError` where the baseline does not run, `InputError` where nothing can be ablated, and what
    workspaces and commands raise."""
    with Slots(start.jobs) as slots:
        return _Runner(start, slots).campaign()


class _Runner:
    def __init__(self, start: Start, slots: Slots) -> None:
        self._start, self._task, self._slots = start, start.task, slots
        self._began = time.monotonic()
        private_folder(start.folder)
        self._operations = Operations(start.folder)
        self._parser = SourceReader(start.parsers)
        self._questions = (
            Questions(start.model, ledger_name(start.folder), self._operations) if start.model is not None else None
        )
        self._trees = worktrees.Shared(start.folder / "candidates")
        self._base = worktrees.opened(start.folder / "baseline", start.starter)
        self._gpus = Taken(() if start.elsewhere else gpus(self._task.devices))
        self._base.rewind(0)  # repairs are made again, from what is stored
        self._fetched: Left | None = None
        self._not_fetched: RunOutcome | None = None
        self._use(Environment(site=None, hash=""))
        self._protected: Sequence[Place] = ()
        self._shared: Sequence[Place] = ()
        self._repairs: Sequence[Repair] = ()
        self._causes: Sequence[str] = ()
        self._changed: dict[str, Sequence[ChangedPlace]] = {}
        self._again: dict[str, list[Future[RunOutcome]]] = {}
        self._executed: Mapping[str, Sequence[int]] | None = None
        self._team: Team | None = None
        self._day: str | None = None
        self._outputs: tuple[str, ...] = ()

    def _use(self, environment: Environment) -> None:
        """Goes on with these packages and the present files of the baseline."""
        self._environment = environment
        self._bench = Bench(self._task, self._start.runner, environment, self._parser, self._gpus, self._fetched)
        self._texts = worktrees.texts_of(self._base)
        self._files = digest(self._texts)
        self._repaired: tuple[str, ...] = tuple(self._base.changed())
        self._measuring: tuple[str, ...] | None = None

    def campaign(self) -> Campaign:
        start, notes = self._start, list(self._start.starter.notes)
        self._reproduce(notes)
        notes += self._environment.notes
        if self._environment.missing:
            missing = "; ".join(f"{name}: {why}" for name, why in list(self._environment.missing.items())[:5])
            notes.append(f"packages that could not be had: {missing}")
        baseline = self._baseline()
        start.notify(f"baseline: {baseline.verdict}")
        space = self._space(baseline, notes)
        start.notify(f"{len(space.components)} components, {len(space.candidates)} candidates")
        if not space.candidates and self._team is None:
            raise InputError("nothing in this code can be ablated without a model: see what was left out, and why")
        outcomes = self._with_effects(self._rounds(space, baseline), baseline)
        for outcome in outcomes:
            shutil.rmtree(self._trees.folder_of(outcome.id) / "tree", ignore_errors=True)
        campaign = Campaign(
            id=start.folder.name,
            task=self._task,
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
            repairs=tuple(self._repairs),
        )
        return self._analysed(campaign)

    def _analysed(self, campaign: Campaign) -> Campaign:
        if self._team is None:
            return campaign
        analysis = self._team.analysed(campaign)
        self._team.remember(campaign)
        return campaign.model_copy(
            update={
                "analysis": analysis,
                "lessons": tuple(self._team.lessons),
                "notes": (*campaign.notes, *self._team.notes),
                "wall_seconds": time.monotonic() - self._began,
            }
        )

    def _reproduce(self, notes: list[str]) -> None:
        """Finds out what to run where that was not said, and makes it run."""
        start = self._start
        if not self._task.is_whole:
            if self._questions is None:
                raise InputError("what to run and to measure was not said: give --run and --metric, or a model (--llm)")
            planned = plan(self._questions, self._task, self._base, self._texts)
            self._task = planned_task(self._task, planned)
            notes.append(f"planned by the model: {' '.join(planned.summary.split())[:400]}")
            notes += [f"not in the repository, says the plan: {' '.join(gap.split())[:200]}" for gap in planned.gaps]
            start.notify(f"plan: {self._task.command(self._task.seeds[0])}, {', '.join(self._task.metrics)}")

        attempts: list[RunOutcome] = []

        def run(environment: Environment) -> RunOutcome:
            self._task = executor.task
            self._use(environment)
            self._day = executor.day
            self._not_fetched = self._fetch()
            attempts.append(self._not_fetched or self._first_run(alone=bool(attempts)))
            return attempts[-1]

        executor = Executor(
            task=self._task,
            workspace=self._base,
            run=run,
            packages=lambda day, modules=(): packages_for(
                self._base, start.packages, self._parser, day, self._task.data, modules
            ),
            texts=lambda: self._texts,
            parser=self._parser,
            committed=start.starter.committed,
            questions=self._questions,
            notify=start.notify,
        )
        self._use(executor.reproduce())
        self._day = executor.day
        self._repairs, self._causes = executor.repairs, executor.causes
        notes += executor.notes
        if executor.found:
            notes.append(f"PYTHONPATH, which the command sets, has {', '.join(executor.found)}")
        if self._repairs:
            notes.append(f"{len(self._repairs)} repairs were needed to run the baseline: their diffs are below")

    def _fetch(self) -> RunOutcome | None:
        """Lets the setup reach its hosts, once, and gives each run what it leaves; the run of a setup that fails, which
        is not stored."""
        if not self._task.allow_hosts:
            return None
        self._fetched = None
        inputs = self._inputs(None, self._task.seeds[0])
        inputs |= {"command": self._task.setup, "hosts": sorted(self._task.allow_hosts)}
        file = self._start.folder / f"setup-{digest(inputs)}.tar"
        done = file.with_suffix(".json")
        if not done.exists():
            file.touch()
            file.chmod(0o644)
            outcome = replace(self._bench, fetched=None).fetch(self._base, file)
            if outcome.problem is not None:
                return outcome
            write_whole(done, outcome.model_dump_json().encode())
        outcome = RunOutcome.model_validate_json(done.read_bytes())
        self._fetched = Left(file, outcome.left_at or 0)
        self._use(self._environment)
        return None

    def _first_run(self, *, alone: bool) -> RunOutcome:
        """The first run of the baseline; where there is room, with runs of its other seeds beside it."""
        seeds = self._task.seeds[: 1 if alone else self._slots.jobs]
        runs = [self._slots.start(partial(self._seed, seed)) for seed in seeds]
        first = runs[0].result()
        if first.value is None:  # the workspace may be repaired now: nothing may be reading it
            for run in runs[1:]:
                run.exception()
        return first

    def _seed(self, seed: int) -> RunOutcome:
        run = self._run(None, self._base, seed)
        if run.value is not None:
            self._start.notify(f"baseline, seed {seed}: {run.value:.6g} in {run.seconds:.1f} s")
        return run

    def _baseline(self) -> Baseline:
        first = self._not_fetched or self._run(None, self._base, self._task.seeds[0])
        self._outputs = first.rewritten
        if first.value is None:  # no other seed would tell more
            left_out = [note for note in self._start.starter.notes if SUBMODULE in note]
            return baseline_of(self._task, [first], self._environment.missing, [*left_out, *self._causes])
        others = [self._slots.start(partial(self._seed, seed)) for seed in self._task.seeds[1:]]
        trace = self._slots.start(partial(self._trace, first))
        runs = [first, *(run.result() for run in others)]
        baseline = baseline_of(self._task, runs, self._environment.missing)
        self._executed = trace.result()
        return baseline

    def _space(self, baseline: Baseline, notes: list[str]) -> Space:
        if self._executed is None:
            notes.append("which lines the baseline runs is not known: the traced run did not end")
        techniques = self._start.techniques(self._base.tree)
        found = self._parser.of_files(
            parsing.space,
            {"texts": self._texts},
            settings=self._start.settings(self._base.tree),
            techniques=techniques,
            given=options_of(self._task),
            metric_keys=metric_keys(self._task),
            metric=self._task.metric,
            executed=self._executed,
        )
        space, self._protected, self._shared = found.space, found.protected, found.shared
        if not self._protected:
            notes.append("no code was recognised as computing the metric: none is kept from being changed")
        notes += [f"{path} does not parse as Python 3, and was left out" for path in found.unparsed]
        options = sorted({f"--{o.name}" for o in space.left_out if o.reason == "the random seed"})
        notes.extend(notes_on(self._task, baseline, options))
        self._repairs = [in_metric(repair, self._protected, self._texts) for repair in self._repairs]
        notes += [
            f"a repair changed code that computes the metric ({', '.join(repair.in_metric)}): read its diff"
            for repair in self._repairs
            if repair.in_metric
        ]
        if self._questions is not None:
            space = self._hypothesised(space, baseline, techniques)
        return only(space, self._task.only) if self._task.only else space

    def _trace(self, first: RunOutcome) -> Mapping[str, Sequence[int]] | None:
        """The lines that the baseline runs, by file; None where the traced run did not end."""
        paths = [path for path in sorted(self._texts) if path.endswith(".py")]
        seed = self._task.seeds[0]
        # Counting lines slows loops in Python tenfold; others hardly.
        limit = min(self._task.seconds, _TRACE_SECONDS + _TRACE_FACTOR * first.seconds)
        traced = self._operations.do(
            "trace",
            self._inputs(None, seed),
            RunOutcome,
            lambda: self._bench.run(self._base, seed, paths, limit, origin=self._origin(None)),
        )
        return traced.executed if traced.executed and traced.value is not None else None

    def _hypothesised(self, space: Space, baseline: Baseline, techniques: Sequence[Component]) -> Space:
        assert self._questions is not None
        scene = Scene(
            task=self._task,
            baseline=baseline,
            texts=self._texts,
            readme=readme(self._texts),
            executed=self._executed,
            protected=self._protected,
            techniques=techniques,
        )
        store = FunctionStore(self._start.functions or self._start.folder / "functions")
        self._team = Team(self._questions, self._parser, self._operations, store, scene, self._start.notify)
        return self._team.hypothesised(space)

    def _rounds(self, space: Space, baseline: Baseline) -> list[CandidateOutcome]:
        task = self._task
        self._components = {component.id: component for component in space.components}
        proposals: Proposals = Listed(space) if self._team is None else Written(space, self._team, task.budget)
        policy = make_policy(task.policy, task)
        mean = sum(baseline.values) / len(baseline.values)
        rounds = -(-task.budget // task.places)

        def work(each: Picked, number: int) -> CandidateOutcome:
            outcome = self._try(each.candidate, number).model_copy(update={"why": each.why})
            self._start.notify(f"round {number}/{rounds}: {_line(outcome, mean)}")
            if not baseline.exact and _changes_much(outcome, mean):
                # What changes the metric by 5 % or more is run with the other seeds too, where a job is idle.
                self._again[outcome.id] = [
                    self._slots.start(partial(self._run, outcome.candidate, None, seed), filler=True)
                    for seed in task.seeds[1:]
                ]
            return outcome

        started = start_rounds(
            task,
            policy,
            proposals,
            lambda each, number: self._slots.start(partial(work, each, number)),
            lambda pull, outcome: _trial(pull, outcome, mean),
            self._slots.jobs,
        )
        return [self._with_all_seeds(future.result(), mean) for future in started]

    def _with_all_seeds(self, outcome: CandidateOutcome, mean: float) -> CandidateOutcome:
        again = self._again.get(outcome.id, ())
        for run in again:
            outcome = _with_run(outcome, run.result())
            if outcome.failure:
                break
        if again:
            self._start.notify(f"again with {len(outcome.runs) - 1} more seeds: {_line(outcome, mean)}")
        return outcome

    def _try(self, candidate: Candidate, number: int) -> CandidateOutcome:
        """The outcome of a candidate; with a model a failed one gets one fix round."""
        outcome = self._tried(candidate, number)
        if self._team is None or outcome.failure not in _MENDABLE:
            return outcome
        mended = self._team.mended(outcome, self._components[candidate.component])
        if mended is None:
            return outcome
        again = self._tried(mended, number)
        return again.model_copy(update={"mended": f"{outcome.failure}: {outcome.problem}"})

    def _tried(self, candidate: Candidate, number: int) -> CandidateOutcome:
        mutations = Mutations(self._parser, self._bench, self._base, self._texts, self._protected, self._shared)
        held: list[Workspace | None] = []  # what was just made is not opened again for its run

        def make() -> Mutated:
            made, workspace = mutations.made(candidate, self._trees)
            held.append(workspace)
            return made

        decided_by = {**self._identity(), **mutations.decided_by(candidate)}
        mutated = self._operations.do("check", decided_by, Mutated, make)
        self._changed[candidate.id] = mutated.places
        outcome = CandidateOutcome(
            candidate=candidate, round=number, commit=mutated.commit, diff=mutated.diff,
            failure=mutated.failure, problem=mutated.problem, measures=mutated.measures,
        )  # fmt: skip
        if mutated.failure:
            return outcome
        return _with_run(outcome, self._run(candidate, held[0] if held else None, self._task.seeds[0]))

    def _with_effects(self, outcomes: Sequence[CandidateOutcome], baseline: Baseline) -> list[CandidateOutcome]:
        groups = [[run.value for run in o.runs if run.value is not None] for o in outcomes]
        pooled = pooled_deviation([list(baseline.values), *groups]) if len(baseline.values) < 3 else None
        return [
            outcome.model_copy(update={"effect": _effect(outcome, values, baseline, pooled)})
            if values and not outcome.failure
            else outcome
            for outcome, values in zip(outcomes, groups, strict=True)
        ]

    def _run(self, candidate: Candidate | None, workspace: Workspace | None, seed: int) -> RunOutcome:
        def work() -> RunOutcome:
            assert workspace is not None or candidate is not None
            opened = workspace or self._trees.of(candidate.id)  # type: ignore[union-attr]
            origin = self._origin(candidate)
            if self._start.elsewhere is None:
                return self._bench.run(opened, seed, changed=changed, origin=origin)
            return self._start.elsewhere(self._task, opened, seed, self._day, changed, origin)

        changed = self._changed.get(candidate.id, ()) if candidate else ()
        inputs = self._inputs(candidate, seed)
        if changed:
            inputs["changed"] = [each.model_dump() for each in changed]
        return self._operations.do("run", inputs, RunOutcome, work)

    def _origin(self, candidate: Candidate | None) -> Origin:
        """Of the baseline with its repairs (None), or a candidate."""
        if self._measuring is None:
            self._measuring = self._parser.measuring(self._texts, self._task.metric)
        changed = {replacement.path for replacement in candidate.replacements} if candidate else set()
        return Origin(
            edited=tuple(sorted({*self._repaired, *changed})),
            measuring=self._measuring,
            outputs=self._outputs if candidate else None,
        )

    def _identity(self) -> dict[str, object]:
        return {"repository": self._start.starter.identity, "files": self._files}

    def _inputs(self, candidate: Candidate | None, seed: int) -> dict[str, object]:
        task = self._task
        return {
            **({"devices": True} if task.devices else {}),
            **({"apart": True} if task.evaluate else {}),
            **self._identity(),
            "candidate": candidate.id if candidate else None,
            "command": task.command(seed),
            "metrics": list(task.metrics),
            "seed": seed,
            "data": {name: str(place) for name, place in task.data.items()},
            **({"cpu": True} if self._environment.cpu else {}),
            **({"fetched": self._fetched.file.name} if self._fetched else {}),
            "limits": [task.seconds, task.memory_mb, task.disk_mb],
            "environment": self._environment.hash,
            "runner": self._start.runner.name,
        }


def _effect(outcome: CandidateOutcome, values: Sequence[float], baseline: Baseline, pooled: float | None) -> Effect:
    """Against the whole baseline; against its runs of the same seeds where these are equal to the last digit: then
    nothing that is measured has changed, however much it varies from seed to seed."""
    by_seed = {run.seed: run.value for run in baseline.runs}
    if all(by_seed.get(run.seed) == run.value for run in outcome.runs):
        return unchanged(values)
    return effect(baseline.values, values, pooled)


def _with_run(outcome: CandidateOutcome, run: RunOutcome) -> CandidateOutcome:
    failed: dict[str, object] = {}
    if run.value is None:
        failed = {"failure": run.failure, "problem": run.problem}
    elif run.reached is False:
        places = ", ".join(map(str, run.never_ran[:4]))
        failed = {"failure": "never ran", "problem": f"no line of what it changes ran ({places})"}
    written = (f"{path}, which its run wrote over or removed" for path in run.touched)
    measures = tuple(dict.fromkeys((*outcome.measures, *written)))
    return outcome.model_copy(update={"runs": (*outcome.runs, run), "measures": measures, **failed})


def _changes_much(outcome: CandidateOutcome, mean: float) -> bool:
    value = outcome.runs[0].value if outcome.runs and not outcome.failure else None
    return value is not None and abs(value - mean) >= CRITICAL * (abs(mean) or 1.0)


def _trial(pull: Pull, outcome: CandidateOutcome, mean: float) -> Trial:
    value = outcome.runs[0].value if outcome.runs and outcome.failure != "never ran" else None
    change = None if value is None else (value - mean) / (abs(mean) or 1.0)
    return Trial(pull=pull, change=change, cost=outcome.seconds / _HOUR)


def _line(outcome: CandidateOutcome, mean: float) -> str:
    what = outcome.candidate.description
    if outcome.failure:
        return f"{what}: failed ({outcome.failure}: {outcome.problem})"
    values = [run.value for run in outcome.runs if run.value is not None]
    value = sum(values) / len(values)
    return f"{what}: {value:.6g} ({percent((value - mean) / (abs(mean) or 1.0))})"
