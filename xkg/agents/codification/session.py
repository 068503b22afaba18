"""The state shared by a run's steps: task, workspace, models, library and journal; and runs of the code, each done only
once."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xkg.agents.codification.journal import Journal
from xkg.agents.codification.library import Library
from xkg.agents.codification.parsing import CodeReader
from xkg.agents.codification.prompting.answers import Properties
from xkg.agents.codification.prompting.questions import Questions
from xkg.agents.codification.task import Method, Task
from xkg.agents.codification.verdict import texts_of
from xkg.agents.workspace.command import Commands, RunResult, cut_middle
from xkg.agents.workspace.measured_run import Origin, measured
from xkg.agents.workspace.related_files import RelatedFiles
from xkg.agents.workspace.shell_line import started
from xkg.agents.workspace.workspace import Workspace
from xkg.config import ImplementSettings
from xkg.sandbox.diagnosis.completion import Completion
from xkg.sandbox.runner import Environment
from xkg.value import Value

_MODULES = "modules"
_MOST_STORED = 400_000
_MOST_FILES = 60_000


class AddedModules(Value):
    """The modules that were missing in runs and whose packages were then added."""

    names: tuple[str, ...] = ()


@dataclass
class Session:
    """One run. `packages` makes the environment, with modules in addition to the starter's imports. `beside` contains
    the task's related files. `baseline` is the starter's metric, or None if it has none. `starter_removes` lists files
    in its tree that the starter's run removes, and `outputs` those that it overwrites; both are None until it has
    run."""

    task: Task
    method: Method
    workspace: Workspace
    commands: Commands
    reader: CodeReader
    questions: Questions
    library: Library
    journal: Journal
    settings: ImplementSettings
    parts: tuple[str, ...] = ()
    properties: Properties = field(default_factory=lambda: Properties(interface="", checks=()))
    baseline: float | None = None
    starter_removes: tuple[str, ...] = ()
    outputs: tuple[str, ...] | None = None
    beside: RelatedFiles = field(default_factory=RelatedFiles)
    notify: Callable[[object], None] = field(default=lambda _: None)
    packages: Callable[[Sequence[str]], Environment] = field(default=lambda _: Environment(site=None, hash=""))

    def __post_init__(self) -> None:
        if added := self.added_modules().names:
            self.commands.environment = self.packages(added)

    def execute(self, command: str, trace: Sequence[str]) -> RunResult:
        """The result of a command on the current files. The same command runs only once on the same files."""
        key = f"run {self.digest()[:24]} {'traced ' if trace else ''}{command}"

        def run() -> RunResult:
            wanted = self.task.parsed_metric.files
            result = self._completed(lambda: self.commands.run(self.workspace, command, trace=trace, wanted=wanted))
            return result.model_copy(update={"output": cut_middle(result.output, _MOST_STORED)})

        return self.journal.once(key, RunResult, run)

    def measure(self, trace: Sequence[str]) -> RunResult:
        """The result of the task's command and its evaluation on the current files, run once for the same files."""
        task, wanted = self.task, self.task.parsed_metric.files

        def run() -> RunResult:
            result = self._completed(
                lambda: measured(
                    self.commands,
                    self.workspace,
                    task.run,
                    task.evaluate,
                    task.parsed_metric,
                    self.reader,
                    self.origin(),
                    trace=trace,
                    wanted=wanted,
                )
            )
            shortened: dict[str, object] = {"output": cut_middle(result.output, _MOST_STORED)}
            if (found := result.evaluated) is not None:
                output = cut_middle(found.output, _MOST_STORED)
                shortened["evaluated"] = found.model_copy(update={"output": output})
            return result.model_copy(update=shortened)

        return self.journal.once(f"measured {self.digest()[:24]}{' traced' if trace else ''}", RunResult, run)

    def _completed(self, run: Callable[[], RunResult]) -> RunResult:
        """The result of a run. If it lacked modules, their packages are added, also for later runs."""
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
            self.journal.put(_MODULES, AddedModules(names=completion.modules))

    def added_modules(self) -> AddedModules:
        return self.journal.get(_MODULES, AddedModules) or AddedModules()

    def origin(self) -> Origin:
        """The diff between the starter and the current files."""
        return Origin(edited=tuple(self.workspace.changed()), measuring=self._measuring, outputs=self.outputs)

    @cached_property
    def _measuring(self) -> tuple[str, ...]:
        return self.reader.measuring(texts_of(self.workspace, 0), self.task.parsed_metric, self.task.protected)

    def digest(self) -> str:
        """A name for the current files, based on their content."""
        digest = hashlib.sha256()
        for path, file in sorted(self.workspace.files.items()):
            digest.update(f"{path}\0{file.executable}\0".encode() + hashlib.sha256(file.content).digest())
        return digest.hexdigest()

    def described(self) -> str:
        """The task as it appears in every prompt."""
        task = self.task
        known = f"{self.baseline:g}" if self.baseline is not None else "unknown"
        measured_by = f"Then measured, from the files that it left, by: {task.evaluate}\n" if task.evaluate else ""
        lines = [
            "# The method\n" + self.method.text,
            *([f"# Pseudocode\n{task.pseudocode}"] if task.pseudocode else []),
            *([f"# The data\n{task.data_description}"] if task.data_description else []),
            *([f"# In the library, not in the workspace\n{library}"] if (library := self.method.library) else []),
            "# Its parts, by name\n" + "\n".join(f"- {part}" for part in self.parts),
            f"# The program\nRun by: {task.run}\n{measured_by}Start from: {self.script()}\n"
            f"Metric: {task.parsed_metric} (of the starter: {known})",
        ]
        if checks := self.properties.checks:
            said = "\n".join(f"- {each.name}: {each.says}" for each in checks)
            lines.append(f"# Checks that the answer is held to\n{self.properties.interface}\n{said}")
        if related := self.related():
            lines.append("Related files: " + ", ".join(related))
        if self.beside.texts:
            lines.append(f"Files in {self.beside.folder}/ are read-only, and part of neither the program nor a run")
        return "\n\n".join(lines)

    def script(self) -> str:
        """The file to start from."""
        if self.task.script:
            return self.task.script
        named = (program.script(self.workspace.files) for program in started(self.task.run))
        return next(filter(None, named), "(none named)")

    def related(self) -> list[str]:
        """Files that belong to the method: the starter's files named by the task, otherwise its Python files nearest to
        the script; then the related files from elsewhere. Both are limited to what fits in a prompt."""
        return [*self.related_in_starter(), *_fitting(self.beside.texts, self.beside.texts)]

    def related_in_starter(self) -> list[str]:
        """Like `related`, but without the read-only files."""
        if self.beside.of_starter:
            return list(self.beside.of_starter)
        script = self.script()
        texts = {path: text for path, text in texts_of(self.workspace, 0).items() if path.endswith(".py")}
        near = sorted(texts, key=lambda path: (path != script, _distance(path, script), path))
        return _fitting(near, texts)

    def text(self, path: str) -> str:
        """The text of a workspace file or a read-only related file. Raises the errors of `Workspace.text`."""
        known = self.beside.texts.get(path)
        return self.workspace.text(path) if known is None else known

    def shown(self, paths: Sequence[str], *, numbered: bool = False) -> str:
        """Renders files for a prompt. Missing files are marked as missing."""
        blocks = []
        room = _MOST_FILES * 2
        for path in dict.fromkeys(paths):
            if path not in self.workspace.files and path not in self.beside.texts:
                blocks.append(f"## {path}\n(a new file)")
                continue
            text = self.text(path)
            lines = text.splitlines()
            if numbered:
                text = "\n".join(f"{number:>5}  {line}" for number, line in enumerate(lines, 1))
            blocks.append(f"## {path}\n{cut_middle(text, max(2000, room))}")
            room -= len(text)
        return "\n\n".join(blocks)

    def traced(self) -> list[str]:
        """The Python files whose lines are counted: those that differ from the starter."""
        return [path for path in self.workspace.changed() if path in self.workspace.files and path.endswith(".py")]


def _fitting(paths: Iterable[str], texts: Mapping[str, str]) -> list[str]:
    """The first paths whose texts together fit into a prompt."""
    chosen, size = [], 0
    for path in paths:
        size += len(texts[path])
        if size > _MOST_FILES:
            break
        chosen.append(path)
    return chosen


def _distance(path: str, script: str) -> int:
    ours, theirs = path.split("/")[:-1], script.split("/")[:-1]
    shared = sum(1 for a, b in zip(ours, theirs, strict=False) if a == b)
    return len(ours) + len(theirs) - 2 * shared
