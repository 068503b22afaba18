"""Runs the baseline and its candidates in a campaign, one run per seed. A repeated request reuses the stored run."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from shutil import rmtree

from xkg.agents.ablation.candidates import COMMAND, Candidate, Replacement
from xkg.agents.ablation.mutation import ChangedPlace, apply, joined
from xkg.agents.ablation.outcomes import RunOutcome
from xkg.agents.ablation.running.bench import Bench
from xkg.agents.ablation.running.on_engine import CandidateRun, Elsewhere
from xkg.agents.ablation.space.seeds import Seed
from xkg.agents.ablation.task import Task
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.measured_run import Origin
from xkg.agents.workspace.operations import Operations, digest

_TRACE_SECONDS, _TRACE_FACTOR = 30.0, 5.0


@dataclass
class Runs:
    """Runs the current files in `base`, or changed files in temporary workspaces below `trees`. `identity` identifies
    the repository. `elsewhere` runs candidates on other machines, with the packages that were available on `day`.
    `vary` lists the seeds that later runs change. `changed` maps candidate ids to the lines that prove that a candidate
    ran. `outputs` lists files that the baseline itself overwrites. This class is thread-safe."""

    bench: Bench
    base: Workspace
    trees: Path
    operations: Operations
    identity: Mapping[str, object]
    elsewhere: Elsewhere | None = None
    day: str | None = None
    vary: tuple[Seed, ...] = ()
    changed: dict[str, Sequence[ChangedPlace]] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def task(self) -> Task:
        return self.bench.task

    @cached_property
    def texts(self) -> Mapping[str, str]:
        return self.base.texts()

    @cached_property
    def files(self) -> str:
        """Returns a digest of the baseline's files."""
        return digest(self.texts)

    @cached_property
    def _repaired(self) -> tuple[str, ...]:
        return tuple(self.base.changed())

    @cached_property
    def _measuring(self) -> tuple[str, ...]:
        return self.bench.reader.measuring(self.texts, self.task.metric)

    def run(self, candidate: Candidate | None, seed: int) -> RunOutcome:
        """Runs a candidate, or the baseline if `candidate` is None. Raises the same errors as `Bench.run`."""
        edits = candidate.replacements if candidate else ()
        return self._run(candidate, edits, self.seeds_for(seed), seed)

    def probed(self, candidate: Candidate) -> RunOutcome:
        """Runs the first seed, with the candidate's code replaced by a value that ends the run when used."""
        return self._run(candidate, candidate.probe, (), self.task.seeds[0])

    def seeds_for(self, seed: int) -> tuple[Replacement, ...]:
        number = self.task.seeds.index(seed)
        return tuple(each.other(number) for each in self.vary) if number else ()

    def setup_inputs(self) -> Mapping[str, object]:
        """Returns the inputs that determine which files the task's setup creates."""
        task = self.task
        own = {"command": task.setup, "hosts": sorted(task.allow_hosts)}
        return self._inputs(task, None, task.seeds[0]) | own

    def trace(self, first: RunOutcome) -> RunOutcome | None:
        """Runs the baseline while recording which lines it executes and which files it opens. Returns None if the run
        did not finish."""
        paths = [path for path in sorted(self.texts) if path.endswith(".py")]
        seed = self.task.seeds[0]
        # Tracing makes Python loops ten times slower, but hardly affects other code.
        limit = min(self.task.seconds, _TRACE_SECONDS + _TRACE_FACTOR * first.seconds)
        traced = self.operations.do(
            "trace",
            self._inputs(self.task, None, seed),
            RunOutcome,
            lambda: self.bench.run(self.base, seed, paths, limit, origin=self._origin(None)),
        )
        return traced if traced.executed and traced.value is not None else None

    def _run(
        self, candidate: Candidate | None, edits: Sequence[Replacement], seeds: Sequence[Replacement], seed: int
    ) -> RunOutcome:
        known = {**self.texts, COMMAND: self.task.run}
        made = apply(joined(edits, seeds, known), known)
        task = self.task.model_copy(update={"run": made.pop(COMMAND, self.task.run)})
        own = candidate is not None and edits is candidate.replacements
        # Trace only one seed, because tracing may change the behaviour of code that reads uninitialised memory.
        # Baseline runs are not traced.
        watched = candidate is not None and own and seed == self.task.seeds[0]
        changed = self.changed.get(candidate.id, ()) if candidate and watched else ()
        inputs = self._inputs(task, candidate, seed)
        if seeds or not own:
            inputs["edits"] = digest(made) if made else ""
        if changed:
            inputs["changed"] = [each.model_dump() for each in changed]

        def work() -> RunOutcome:
            with self._workspace(made) as workspace:
                origin = self._origin(candidate)
                if self.elsewhere is None:
                    return replace(self.bench, task=task).run(workspace, seed, changed=changed, origin=origin)
                return self.elsewhere(CandidateRun(task, workspace.files, seed, self.day, tuple(changed), origin))

        return self.operations.do("run", inputs, RunOutcome, work)

    @contextmanager
    def _workspace(self, made: Mapping[str, str]) -> Iterator[Workspace]:
        if not made:
            yield self.base
            return
        folder = self.trees / f"for-a-run-{next(self._numbers)}"
        rmtree(folder, ignore_errors=True)  # remove files left by a killed run
        try:
            yield self.base.copied(folder, made, "Change for a run")
        finally:
            rmtree(folder, ignore_errors=True)

    def _origin(self, candidate: Candidate | None) -> Origin:
        """Describes how a candidate's workspace differs from the starter. If `candidate` is None, describes the
        repaired baseline."""
        changed = {r.path for r in candidate.replacements if r.path != COMMAND} if candidate else set()
        return Origin(
            edited=tuple(sorted({*self._repaired, *changed})),
            measuring=self._measuring,
            outputs=self.outputs if candidate else None,
        )

    def _inputs(self, task: Task, candidate: Candidate | None, seed: int) -> dict[str, object]:
        return {
            **({"devices": True} if task.devices else {}),
            **({"apart": True} if task.evaluate else {}),
            **self.identity,
            "files": self.files,
            "candidate": candidate.id if candidate else None,
            "command": task.command(seed),
            "metrics": list(task.metrics),
            "seed": seed,
            "data": {name: str(place) for name, place in task.data.items()},
            **({"cpu": True} if self.bench.environment.cpu else {}),
            **({"fetched": self.bench.fetched.file.name} if self.bench.fetched else {}),
            "limits": [task.seconds, task.memory_mb, task.disk_mb],
            "environment": self.bench.environment.hash,
            "runner": self.bench.runner.name,
        }
