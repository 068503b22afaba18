"""Runs candidates as engine tasks, possibly on other machines with their own packages and sandboxes."""

import os
import queue
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from xkg.agents.ablation.mutation import ChangedPlace
from xkg.agents.ablation.outcomes import RunOutcome
from xkg.agents.ablation.running.bench import Bench
from xkg.agents.ablation.task import Task
from xkg.agents.parsers import agent_parsers
from xkg.agents.workspace.command import packages_for
from xkg.agents.workspace.files.starter import Starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.measured_run import UNCHANGED, Origin
from xkg.agents.workspace.operations import digest
from xkg.agents.workspace.parsing import SourceReader
from xkg.build.repositories.branch import TreeFile
from xkg.config import Settings
from xkg.engine.engine import Engine, NoWorkerError, Site, Worker
from xkg.errors import InputError
from xkg.files import private_folder
from xkg.sandbox.isolation.gpus import Taken, gpus


@dataclass(frozen=True)
class CandidateRun:
    """One run of a task on a version of the code. `files` contains all files of that version. `day` is the date of the
    packages. If `day` is None, the run uses the newest packages that the requirements allow. The outcome reports which
    of the `changed` places ran."""

    task: Task
    files: Mapping[str, TreeFile]
    seed: int
    day: str | None
    changed: tuple[ChangedPlace, ...] = ()
    origin: Origin = UNCHANGED


@dataclass(frozen=True)
class RunCandidates:
    """Runs commands on versions of the code. The `data` folders are not transferred and must have the same paths on
    every machine. If `gpus` is set, the engine assigns one GPU to each run."""

    settings: Settings
    data: tuple[Path, ...]
    gpus: int = 0
    name: str = "ablations"
    imports: tuple[str, ...] = ()

    @property
    def services(self) -> Mapping[str, Callable[[], object]]:
        return {}

    @property
    def places(self) -> Mapping[str, int]:
        return {}

    @contextmanager
    def open(self, site: Site) -> Iterator[Callable[[CandidateRun], RunOutcome]]:
        """Yields a function that runs candidates. Raises `SandboxUnavailableError` if there is no sandbox, and
        `InputError` if a data folder is missing."""
        from xkg.sandbox.packages.environments import UvEnvironments
        from xkg.sandbox.select import runner_for

        for place in self.data:
            if not place.is_dir():
                raise InputError(f"the data folder {place} does not exist; put it at the same path on every node")
        folder = site.folder or self.settings.kg
        private_folder(folder)
        runner = runner_for(self.settings.sandbox)
        maker = UvEnvironments(self.settings.environment, runner)

        def run(candidate: CandidateRun) -> RunOutcome:
            with tempfile.TemporaryDirectory(prefix="run-", dir=folder) as work:
                identity = digest({path: file.content.hex() for path, file in candidate.files.items()})
                starter = Starter("candidate", identity, dict(candidate.files), None, False, ())
                workspace = Workspace.create(Path(work) / "workspace", starter)
                task = candidate.task
                environment = packages_for(
                    workspace, maker, reader, candidate.day, task.data, command=task.command(candidate.seed)
                )
                taken = Taken(gpus(_given()) if self.gpus else ())
                return Bench(candidate.task, runner, environment, reader, taken).run(
                    workspace, candidate.seed, changed=candidate.changed, origin=candidate.origin
                )

        with agent_parsers() as parsers:
            reader = SourceReader(parsers)
            yield run


def _given() -> list[str]:
    """Returns the GPU that the engine assigned to this process. Raises `NoWorkerError` if the engine assigned no
    GPU."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0]
    if not given.isdigit():
        raise NoWorkerError("the task needs a GPU, but the engine assigned none; start nodes with --num-gpus")
    return [f"nvidia:{given}"]


Elsewhere = Callable[[CandidateRun], RunOutcome]
"""Runs a candidate on any machine."""


@contextmanager
def spread_over(engine: Engine, settings: Settings, data: Iterable[Path], *, gpu: bool = False) -> Iterator[Elsewhere]:
    """Yields a function that runs a candidate on any free engine worker. The function may be called by as many threads
    as there are jobs. The function raises the same errors as `Worker.run`."""
    workers = engine.workers(RunCandidates(settings, tuple(data), int(gpu)), engine.jobs)
    idle: queue.SimpleQueue[Worker[CandidateRun, RunOutcome]] = queue.SimpleQueue()

    def run(candidate: CandidateRun) -> RunOutcome:
        worker = idle.get()
        try:
            return worker.run(candidate, lambda _: None)
        finally:
            idle.put(worker)

    with ExitStack() as opened:
        for worker in workers:
            opened.callback(worker.close)
            opened.callback(worker.stop)
            idle.put(worker)
        yield run
