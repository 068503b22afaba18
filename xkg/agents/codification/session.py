"""Defines the state that the steps of a run share: task, workspace, models and library. Runs the code, and reuses
earlier results for the same files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from xkg.agents.codification.library import Library
from xkg.agents.codification.parsing import CodeReader
from xkg.agents.codification.prompting.answers import Properties
from xkg.agents.codification.task import Method, Task
from xkg.agents.workspace.command import Commands, RunResult, cut_middle, numbered
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.measured_run import Origin, measured
from xkg.agents.workspace.operations import Operations, digest
from xkg.agents.workspace.program.shell_line import started
from xkg.agents.workspace.questions import Questions
from xkg.agents.workspace.related_files import RelatedFiles
from xkg.config import ImplementSettings
from xkg.sandbox.diagnosis.completion import Completion
from xkg.sandbox.runner import Environment
from xkg.value import Value

_MOST_STORED = 400_000
_MOST_FILES = 60_000
_MOST_NAMES = 4000


class AddedModules(Value):
    """The modules that were missing in a run, and whose packages were added."""

    names: tuple[str, ...] = ()


class Baseline(Value):
    """The result of running the unchanged starter: the metric, or why it is missing, and the files that the run removed
    or overwrote in its copy (None if unknown)."""

    metric: float | None = None
    problem: str | None = None
    removed: tuple[str, ...] = ()
    rewritten: tuple[str, ...] | None = None


_NO_CHECKS, _NOT_RUN = Properties(interface="", checks=()), Baseline()


@dataclass
class Session:
    """One run. `packages` creates an environment that contains the given modules in addition to the starter's imports.
    `beside` contains the task's related files."""

    task: Task
    method: Method
    workspace: Workspace
    commands: Commands
    reader: CodeReader
    questions: Questions
    library: Library
    operations: Operations
    settings: ImplementSettings
    beside: RelatedFiles
    notify: Callable[[object], None]
    packages: Callable[[Sequence[str]], Environment]
    parts: tuple[str, ...] = ()
    properties: Properties = _NO_CHECKS
    baseline: Baseline = _NOT_RUN

    def __post_init__(self) -> None:
        if added := self.added_modules().names:
            self.commands.environment = self.packages(added)

    def run(self, trace: Sequence[str], command: str | None = None) -> RunResult:
        """Returns the result of running a command (by default the task's command and its evaluation) on the current
        files. Each command runs only once for the same files."""

        def run() -> RunResult:
            if command is not None:
                wanted = self.task.parsed_metric.files
                return self.commands.run(self.workspace, command, trace=trace, wanted=wanted)
            return self.measured(self.workspace, self.commands, trace=trace)

        inputs = {"files": self.digest(), "traced": bool(trace), "command": command}
        return self.operations.do("run", inputs, RunResult, lambda: _shortened(self._completed(run)))

    def measured(
        self, workspace: Workspace, commands: Commands, trace: Sequence[str] = (), first: Sequence[str] = ()
    ) -> RunResult:
        """Runs the task's command and its evaluation in a workspace. The workspace may differ from the session's own.
        `trace` and `first` have the same meaning as in `Commands.run`."""
        task, metric = self.task, self.task.parsed_metric
        return measured(
            commands, workspace, task.run, task.evaluate, metric, self.reader, self.origin(),
            trace=trace, wanted=metric.files, first=first,
        )  # fmt: skip

    def _completed(self, run: Callable[[], RunResult]) -> RunResult:
        """Returns a run's result. If modules are missing, adds their packages for this and later runs."""
        completion = Completion(self.packages, self.added_modules().names)
        while True:
            result = run()
            evaluated = result.evaluated.output if result.evaluated else ""
            environment = None
            if result.problem is not None:
                environment = completion.after(evaluated or result.output, self.commands.environment)
            if environment is None:
                return result
            self.commands.environment = environment
            self.operations.put("modules", {}, AddedModules(names=completion.modules))

    def added_modules(self) -> AddedModules:
        return self.operations.get("modules", {}, AddedModules) or AddedModules()

    def origin(self) -> Origin:
        return Origin(
            edited=tuple(self.workspace.changed()), measuring=self._measuring, outputs=self.baseline.rewritten
        )

    @cached_property
    def _measuring(self) -> tuple[str, ...]:
        return self.reader.measuring(self.workspace.texts(0), self.task.parsed_metric, self.task.protected)

    def digest(self) -> str:
        files = self.workspace.files.items()
        return digest({path: [file.executable, sha256(file.content).hexdigest()] for path, file in files})

    def described(self) -> str:
        """Returns the task description that every prompt contains."""
        task = self.task
        known = "unknown" if self.baseline.metric is None else f"{self.baseline.metric:g}"
        measured_by = f"Then measured from its output files by: {task.evaluate}\n" if task.evaluate else ""
        library = self.method.library if task.graph else "This run has no library: do not search it"
        lines = [
            "# The method\n" + self.method.text,
            *([f"# Pseudocode\n{task.pseudocode}"] if task.pseudocode else []),
            *([f"# The data\n{task.data_description}"] if task.data_description else []),
            *([f"# In the library, not in the workspace\n{library}"] if library else []),
            "# Its parts, by name\n" + "\n".join(f"- {part}" for part in self.parts),
            f"# The program\nRun by: {task.run}\n{measured_by}Start from: {self.script()}\n"
            f"Metric: {task.parsed_metric} (starter: {known})",
        ]
        if checks := self.properties.checks:
            said = "\n".join(f"- {each.name}: {each.says}" for each in checks)
            lines.append(f"# Checks that the answer must pass\n{self.properties.interface}\n{said}")
        if related := self.related():
            lines.append("Related files: " + ", ".join(related))
        if self.beside.texts:
            lines.append(f"Files in {self.beside.folder}/ are read-only and belong to neither the program nor a run")
        return "\n\n".join(lines)

    def script(self) -> str:
        """Returns the file that the agent starts from."""
        if self.task.script:
            return self.task.script
        named = (program.script(self.workspace.files) for program in started(self.task.run))
        return next(filter(None, named), "(none named)")

    def related(self) -> list[str]:
        """Returns the files that belong to the method, as many as fit in a prompt. Starter files that the task lists
        come first. If the task lists none, the starter's Python files nearest to the script come first. Related files
        from elsewhere follow."""
        script, texts = self.script(), self.workspace.texts(0)
        chosen = [path for path in self.beside.of_starter if path in texts]
        if not self.beside.of_starter:
            near = sorted(texts, key=lambda path: (path != script, _distance(path, script), path))
            chosen = _fitting((path for path in near if path.endswith(".py")), texts)
        return [*chosen, *_fitting(self.beside.texts, self.beside.texts)]

    def text(self, path: str) -> str:
        """Returns the text of a workspace file or a read-only related file. Raises the same errors as
        `Workspace.text`."""
        known = self.beside.texts.get(path)
        return self.workspace.text(path) if known is None else known

    def shown(self) -> str:
        """Returns the related and changed files with line numbers, and the names of the other files, for a prompt."""
        texts = self.workspace.texts()
        blocks = []
        room = _MOST_FILES * 2
        paths = dict.fromkeys([*self.related(), *(path for path in self.workspace.changed() if path in texts)])
        for path in paths:
            text = numbered(self.text(path).splitlines())
            blocks.append(f"## {path}\n{cut_middle(text, max(2000, room))}")
            room -= len(text)
        if others := [path for path in [*self.workspace.files, *self.beside.texts] if path not in paths]:
            blocks.append(f"Not shown: {cut_middle(', '.join(others), _MOST_NAMES)}")
        return "\n\n".join(blocks)

    def traced(self) -> list[str]:
        """Returns the Python files that differ from the starter. Line counts are recorded for these files."""
        return [path for path in self.workspace.changed() if path in self.workspace.files and path.endswith(".py")]


def _shortened(result: RunResult) -> RunResult:
    shortened: dict[str, object] = {"output": cut_middle(result.output, _MOST_STORED)}
    if (found := result.evaluated) is not None:
        shortened["evaluated"] = found.model_copy(update={"output": cut_middle(found.output, _MOST_STORED)})
    return result.model_copy(update=shortened)


def _fitting(paths: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    chosen, room = [], _MOST_FILES
    for path in paths:
        if len(texts[path]) <= room:
            room -= len(texts[path])
            chosen.append(path)
    return chosen


def _distance(path: str, script: str) -> int:
    ours, theirs = path.split("/")[:-1], script.split("/")[:-1]
    shared = sum(1 for a, b in zip(ours, theirs, strict=False) if a == b)
    return len(ours) + len(theirs) - 2 * shared
