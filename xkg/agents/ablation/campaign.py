"""Runs a complete campaign: measures the baseline, finds candidates, tries them in rounds and computes their
effects."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from xkg.agents.ablation import parsing
from xkg.agents.ablation.candidates import COMMAND, Component, Place, Space
from xkg.agents.ablation.outcomes import Baseline, Campaign, CandidateOutcome, Repair, RunOutcome
from xkg.agents.ablation.reproduction.baseline import baseline_of, in_metric, noise_note, notes_on, takes_seed
from xkg.agents.ablation.reproduction.executor import Executor
from xkg.agents.ablation.reproduction.plan import asked_plan, planned_task
from xkg.agents.ablation.roles.team import Team
from xkg.agents.ablation.rounds.choice import Choice
from xkg.agents.ablation.rounds.trials import Trials, constant_note, with_effects
from xkg.agents.ablation.running.bench import Bench
from xkg.agents.ablation.running.mutations import Mutations
from xkg.agents.ablation.running.on_engine import Elsewhere
from xkg.agents.ablation.running.runs import Runs
from xkg.agents.ablation.running.slots import Slots
from xkg.agents.ablation.space.seeds import Seeds
from xkg.agents.ablation.task import Task
from xkg.agents.parsers import agent_parsers
from xkg.agents.workspace.command import Left, packages_for
from xkg.agents.workspace.files.starter import SUBMODULE, Starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.operations import Operations, digest
from xkg.agents.workspace.parsing import SourceReader
from xkg.agents.workspace.questions import Questions
from xkg.build.code.settings import Setting
from xkg.build.parsing.parsers import Parsers
from xkg.errors import InputError
from xkg.files import private_folder, write_whole
from xkg.llm.client import LanguageModel
from xkg.sandbox.isolation.gpus import Taken, gpus
from xkg.sandbox.runner import IN_PLACE_OF_CUDA, Environment, EnvironmentMaker, Runner
from xkg.text.plural import plural


@dataclass(frozen=True)
class Start:
    """The inputs of a campaign. `techniques` returns components with their locations in a folder, and `settings`
    returns the entries in a folder's configuration files. `jobs` is the number of parallel runs. `elsewhere` runs
    candidates on other machines. Any thread may call `notify`."""

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
    parsers: Parsers = field(default_factory=agent_parsers)


def ledger_name(folder: Path) -> str:
    """Returns the run's name in the LLM call ledger."""
    return f"run:{folder.name}"


def run_campaign(start: Start) -> Campaign:
    """Runs a campaign to completion, reusing any work already done in its folder.

    Raises `BaselineError` if the baseline does not run, and `InputError` if the task is incomplete and no model
    completes it. Also propagates errors from workspaces and commands."""
    with Slots(start.jobs) as slots:
        return _Runner(start, slots).campaign()


def _opened(folder: Path, starter: Starter) -> Workspace:
    if (folder / "workspace.json").exists():
        workspace = Workspace.open(folder)
        if workspace.identity == starter.identity:
            return workspace
        shutil.rmtree(folder)
    return Workspace.create(folder, starter)


class _Runner:
    def __init__(self, start: Start, slots: Slots) -> None:
        self._start, self._task, self._slots = start, start.task, slots
        private_folder(start.folder)
        self._operations = Operations(start.folder)
        self._parser = SourceReader(start.parsers)
        self._questions = Questions(start.model, ledger_name(start.folder)) if start.model is not None else None
        self._base = _opened(start.folder / "baseline", start.starter)
        self._gpus = Taken(() if start.elsewhere else gpus(self._task.devices))
        self._base.rewind(0)  # repairs are applied again from stored results
        self._found_seeds: dict[tuple[str, str], Seeds] = {}
        self._fetched: Left | None = None
        self._not_fetched: RunOutcome | None = None
        self._use(Environment(site=None, hash=""))
        self._protected: Sequence[Place] = ()
        self._shared: Sequence[Place] = ()
        self._repairs: Sequence[Repair] = ()
        self._causes: Sequence[str] = ()
        self._traced = RunOutcome(seed=0, command="")  # replaced by the traced run
        self._team: Team | None = None

    def _use(self, environment: Environment, day: str | None = None) -> None:
        """Switches to an environment with the packages that were available on `day` (the newest packages if `day` is
        None), and reloads the baseline's files."""
        start = self._start
        self._runs = Runs(
            Bench(self._task, start.runner, environment, self._parser, self._gpus, self._fetched),
            self._base,
            start.folder,
            self._operations,
            {"repository": start.starter.identity},
            start.elsewhere,
            day,
        )
        self._runs.vary = () if takes_seed(self._task) else self._seeds.found

    @property
    def _seeds(self) -> Seeds:
        known = (self._runs.files, self._task.run)
        if known not in self._found_seeds:
            self._found_seeds[known] = self._parser.of_files(
                parsing.seeds,
                {"texts": self._runs.texts},
                settings=self._start.settings(self._base.tree),
                command=self._task.run,
            )
        return self._found_seeds[known]

    def campaign(self) -> Campaign:
        start, notes = self._start, list(self._start.starter.notes)
        self._reproduce(notes)
        environment = self._runs.bench.environment
        notes += environment.notes
        if environment.missing:
            missing = "; ".join(f"{name}: {why}" for name, why in list(environment.missing.items())[:5])
            notes.append(f"packages that could not be installed: {missing}")
        baseline = self._baseline(notes)
        start.notify(f"baseline: {baseline.verdict}")
        space = self._space(baseline, notes)
        start.notify(f"{len(space.components)} components, {len(space.candidates)} candidates")
        outcomes = with_effects(self._rounds(space, baseline), baseline)
        if constant := constant_note(outcomes):
            notes.append(constant)
            start.notify(f"warning: {constant}")
        campaign = Campaign(
            id=start.folder.name,
            task=self._task,
            repository=start.starter.identity,
            commit=start.starter.base,
            baseline=baseline,
            space=space,
            outcomes=tuple(outcomes),
            runner=start.runner.name,
            environment=environment.hash,
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            jobs=start.jobs,
            notes=tuple(notes),
            repairs=tuple(self._repairs),
        )
        return self._analysed(campaign)

    def _analysed(self, campaign: Campaign) -> Campaign:
        if self._team is None:
            return campaign
        analysis = self._team.analysed(campaign)
        return campaign.model_copy(
            update={
                "analysis": analysis,
                "lessons": tuple(self._team.lessons),
                "notes": (*campaign.notes, *self._team.notes),
            }
        )

    def _reproduce(self, notes: list[str]) -> None:
        """Finds the command and metric if the task does not specify them, and makes the command run."""
        start = self._start
        if not self._task.is_whole:
            if self._questions is None:
                raise InputError("--run and --metric are missing; pass both, or let a model find them (--llm)")
            planned = asked_plan(self._questions, self._task, self._base, self._runs.texts)
            self._task = planned_task(self._task, planned)
            notes.append(f"planned by the model: {' '.join(planned.summary.split())[:400]}")
            notes += [
                f"not in the repository, according to the plan: {' '.join(gap.split())[:200]}" for gap in planned.gaps
            ]
            start.notify(f"plan: {self._task.command(self._task.seeds[0])}, {', '.join(self._task.metrics)}")

        attempts: list[RunOutcome] = []

        def run(environment: Environment) -> RunOutcome:
            self._task = executor.task
            self._use(environment, executor.day)
            self._not_fetched = self._fetch()
            attempts.append(self._not_fetched or self._first_run(alone=bool(attempts)))
            return attempts[-1]

        executor = Executor(
            task=self._task,
            workspace=self._base,
            run=run,
            packages=lambda day, modules: packages_for(
                self._base,
                start.packages,
                self._parser,
                day,
                self._task.data,
                modules,
                self._task.command(self._task.seeds[0]),
            ),
            parser=self._parser,
            committed=start.starter.committed,
            questions=self._questions,
            notify=start.notify,
        )
        self._use(executor.reproduce(), executor.day)
        self._repairs, self._causes = executor.repairs, executor.causes
        notes += executor.notes
        if self._repairs:
            notes.append(f"the baseline runs with {plural(len(self._repairs), 'repair')} (the report shows the diffs)")

    def _fetch(self) -> RunOutcome | None:
        """Runs the setup once with access to the allowed hosts. Later runs can use the files that the setup created.
        Returns the outcome if the setup failed, and None otherwise. Failed setups are not stored."""
        if not self._task.allow_hosts:
            return None
        self._fetched, bench = None, replace(self._runs.bench, fetched=None)
        file = self._start.folder / f"setup-{digest(self._runs.setup_inputs())}.tar"
        done = file.with_suffix(".json")
        if not done.exists():
            file.touch()
            file.chmod(0o644)
            outcome = bench.fetch(self._base, file)
            if outcome.problem is not None:
                return outcome
            write_whole(done, outcome.model_dump_json().encode())
        outcome = RunOutcome.model_validate_json(done.read_bytes())
        self._fetched = Left(file, outcome.left_at or 0)
        self._use(bench.environment, self._runs.day)
        return None

    def _first_run(self, *, alone: bool) -> RunOutcome:
        seeds = self._task.seeds[: 1 if alone else self._slots.jobs]
        runs = [self._slots.start(partial(self._seed, seed)) for seed in seeds]
        first = runs[0].result()
        if first.value is None:  # the next step may repair the workspace, so wait until no other run reads it
            for run in runs[1:]:
                run.exception()
        return first

    def _seed(self, seed: int) -> RunOutcome:
        run = self._runs.run(None, seed)
        if run.value is not None:
            self._start.notify(f"baseline, seed {seed}: {run.value:.6g} in {run.seconds:.1f} s")
        return run

    def _baseline(self, notes: list[str]) -> Baseline:
        task, environment = self._task, self._runs.bench.environment
        missing = environment.missing
        first = self._not_fetched or self._runs.run(None, task.seeds[0])
        self._runs.outputs = first.rewritten
        if first.value is None:  # another seed would also fail
            left_out = [note for note in self._start.starter.notes if SUBMODULE in note]
            lacks = [note for note in environment.notes if IN_PLACE_OF_CUDA not in note]
            return baseline_of(task, [first], missing, [*left_out, *self._causes], notes=lacks)
        trace = self._slots.start(partial(self._runs.trace, first))
        runs = self._all_seeds(first)
        if len({run.value for run in runs}) == 1 and not self._runs.vary and self._seeds.found:
            # the command's seed does not affect the random numbers, so change the seeds in the code
            self._runs.vary = self._seeds.found
            runs = self._all_seeds(first)
        if (traced := trace.result()) is not None:
            self._traced = traced
        unknown = "; ".join(f"{each.place}: {each.why}" for each in self._seeds.fixed if self._ran(each.place))
        if self._runs.vary and (failed := next((run for run in runs if run.value is None), None)):
            self._runs.vary = ()
            unknown = f"the code does not run with other seeds ({failed.problem})"
            runs = self._all_seeds(first)
        baseline = baseline_of(task, runs, missing, unknown=unknown, varied=self._varied())
        notes += notes_on(task, baseline)
        return baseline

    def _all_seeds(self, first: RunOutcome) -> list[RunOutcome]:
        others = [self._slots.start(partial(self._seed, seed)) for seed in self._task.seeds[1:]]
        return [first, *(run.result() for run in others)]

    def _varied(self) -> tuple[str, ...]:
        """Describes the seeds in the code that later runs vary. Omits seeds on lines that the baseline does not run."""
        return tuple(
            f"{seed.place}: {seed.at.old} → {', '.join(seed.other(n).new for n in range(1, len(self._task.seeds)))}"
            for seed in self._runs.vary
            if self._ran(seed.place)
        )

    def _ran(self, place: Place) -> bool:
        """Returns whether the baseline ran a line in `place` or, if `place` is not in a Python file, opened the file.
        Returns true if this is unknown."""
        executed, opened = self._traced.executed, self._traced.opened
        if executed is None or not place.path.endswith(".py"):
            return opened is None or place.path == COMMAND or place.path in opened
        return any(place.start_line <= line <= place.end_line for line in executed.get(place.path, ()))

    def _space(self, baseline: Baseline, notes: list[str]) -> Space:
        if self._traced.executed is None:
            notes.append("the lines that the baseline runs are unknown: the traced run did not finish")
        techniques = self._start.techniques(self._base.tree)
        found = self._parser.of_files(
            parsing.space,
            {"texts": self._runs.texts},
            settings=self._start.settings(self._base.tree),
            techniques=techniques,
            command=self._task.run,
            metric=self._task.metric,
            executed=self._traced.executed,
            opened=self._traced.opened,
            printed=self._traced.printed,
        )
        space, self._protected, self._shared = found.space, found.protected, found.shared
        if not self._protected:
            notes.append("no code was recognised as computing the metric, so none is protected from changes")
        notes += [f"{path} does not parse as Python 3 and was left out" for path in found.unparsed]
        if noisy := noise_note(self._task, baseline, space.left_out):
            notes.append(noisy)
            self._start.notify(f"warning: {noisy}")
        self._repairs = [in_metric(repair, self._protected, self._runs.texts) for repair in self._repairs]
        notes += [
            f"a repair changed code that computes the metric ({', '.join(repair.in_metric)}); check the repair's diff"
            for repair in self._repairs
            if repair.in_metric
        ]
        if self._questions is not None:
            texts, executed = self._runs.texts, self._traced.executed
            self._team = Team(
                self._questions,
                self._parser,
                self._task,
                baseline,
                texts,
                executed,
                self._protected,
                techniques,
                self._start.notify,
            )
            space = self._team.hypothesised(space)
        return space.only(self._task.only) if self._task.only else space

    def _rounds(self, space: Space, baseline: Baseline) -> list[CandidateOutcome]:
        mutations = Mutations(self._parser, self._runs.bench, self._runs.texts, self._protected, self._shared)
        mended = None if self._team is None else self._team.mended
        trials = Trials(self._runs, mutations, self._slots, baseline, space, mended, self._start.notify)
        return trials.outcomes(Choice(space, self._team))
