"""Gets the baseline to run: reruns the first seed, and repairs the cause of each failure. Each repair creates a version
of the baseline's workspace.

Known problems are repaired without a model. At first, only the packages that the command's files import are installed.
If that is not enough, the packages that the repository declares are added. If a dependency has removed an API, the
executor switches to the Python version and packages from the commit's day. If a module is missing, its package is
installed. If the repository itself contains the missing module, its folder is added to the module path, or its
extension is built. A matplotlib backend that needs a display is replaced, and missing output folders are created.
Incomplete data files and checkpoints are only reported, because they cannot be repaired."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from packaging.requirements import InvalidRequirement, Requirement

from xkg.agents.ablation.failures import Failure, raised_by_itself
from xkg.agents.ablation.outcomes import Repair, RunOutcome
from xkg.agents.ablation.reproduction.damaged_files import damaged, empty_folders
from xkg.agents.ablation.reproduction.plan import PROMPTS, code, given
from xkg.agents.ablation.task import Task
from xkg.agents.workspace.command import ADDED, cut_middle
from xkg.agents.workspace.files.edits import EditError, FileEdit
from xkg.agents.workspace.files.workspace import Workspace
from xkg.agents.workspace.parsing import SourceReader, StatedPackages
from xkg.agents.workspace.program.own_packages import (
    build_of_extension,
    folder_called,
    folder_of_module,
    folder_that_defines,
)
from xkg.agents.workspace.questions import Questions
from xkg.agents.workspace.run_hints import missing_output_folder
from xkg.build.requirements import states_requirements
from xkg.errors import AnswerError, InputError
from xkg.llm.client import AnswerType
from xkg.llm.prompt import load_prompt
from xkg.sandbox.diagnosis.completion import Completion
from xkg.sandbox.evidence.failure_causes import lacking_modules, missing_modules
from xkg.sandbox.isolation.bubblewrap_mounts import SITE
from xkg.sandbox.isolation.interpreters import installed, own
from xkg.sandbox.packages.distributions import LAST_WITH
from xkg.sandbox.packages.python_choice import PYTHON, first_day, version_of
from xkg.sandbox.packages.requirement_hints import version_hints
from xkg.sandbox.runner import IN_PLACE_OF_CUDA, Environment
from xkg.text.unicode import printable_line

MOST_REPAIRS = 6
_CODE = 60_000
_BEYOND: frozenset[Failure] = frozenset({"needs the network", "time", "memory", "disk", "output", "killed"})
_PLAIN_PATH = re.compile(r"[\w./ -]*")
_FRAME = re.compile(r'File "([^"\n]{1,300})", line \d')
_IN_PACKAGE = re.compile(rf"{SITE}/([A-Za-z_]\w{{0,80}}+)(?:/|\.py)")
_OF_A_DISPLAY = re.compile(r"Cannot load backend '(\w{1,40})' which requires the '\w{1,40}' interactive framework")
_DATED = "packages are from"
_LACKS = re.compile(r"(?i)is not installed|pip install")
_UNDEFINED = re.compile(r"\b(?:NameError|UnboundLocalError)\b")
_OF_THE_CODE: frozenset[Failure] = frozenset({"error", "own error", "shape", "needs a GPU"})
_DATA_FAILURES: frozenset[Failure] = frozenset({"broken checkpoint", "missing data", "empty data", "error"})


Cause = Literal["missing import", "version", "path", "data format", "missing output", "other"]


class Fix(AnswerType):
    """A model's fix. `requirements` contains requirement lines for packages that need a different version."""

    cause: Cause
    possible: bool
    reason: str
    edits: tuple[FileEdit, ...]
    requirements: tuple[str, ...]


Packages = Callable[[str | None, Sequence[str]], Environment]
"""Creates an environment with the packages that were available on a day, and with additional modules. If the day is
None, the environment contains the newest packages that the repository allows."""


@dataclass
class Executor:
    """Gets the baseline to run. `run` runs the task's first seed in an environment, and `packages` creates an
    environment. If `questions` is not None, a model also makes repairs. `repairs` lists the repairs so far. `causes`
    lists known causes of the baseline's failure. `day` is the date of the packages."""

    task: Task
    workspace: Workspace
    run: Callable[[Environment], RunOutcome]
    packages: Packages
    parser: SourceReader
    committed: str | None
    questions: Questions | None = None
    notify: Callable[[str], None] = lambda _: None
    repairs: list[Repair] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    causes: list[str] = field(default_factory=list)
    day: str | None = None
    _placed: set[str] = field(default_factory=set)
    _tried: set[str] = field(default_factory=set)
    _dated: list[str] = field(default_factory=list)
    _next: Environment | None = None

    def __post_init__(self) -> None:
        self._completion = Completion(lambda modules: self.packages(self.day, modules))

    def reproduce(self) -> Environment:
        """Returns the environment in which the baseline runs, or the last environment tried. Raises the same errors as
        `LanguageModel`."""
        while True:
            environment, self._next = self._next or self.packages(self.day, ()), None
            outcome = self.run(environment)
            if outcome.value is not None:
                return environment
            self.notify(f"the baseline does not run yet ({outcome.failure}): {outcome.problem}")
            if not self._mended(outcome, environment):
                return environment

    def _mended(self, outcome: RunOutcome, environment: Environment) -> bool:
        """Tries the repairs in order. Returns whether the baseline should run again."""
        of_a_version = self._of_a_version(outcome)
        lacks = outcome.failure == "missing package" or bool(_LACKS.search(outcome.output_end))
        if self._found(outcome) or self._without_display(outcome) or self._with_folder(outcome):
            self._next = environment
            return True
        mended = (
            self._built(outcome)
            or self._complete(outcome, environment)
            or (lacks and self._declared(outcome, environment))
            or (environment.cpu and self._with_its_own_cpu(outcome, environment))
            or self._on_another_python(outcome)
            or (of_a_version and self._unpinned(outcome, environment))
            or (of_a_version and self._older(outcome, environment))
            or (of_a_version and self._declared(outcome, environment))
            or self._repaired(outcome, environment)
        )
        if not mended and of_a_version and self._dated:
            self.causes.append(f"packages from {' and from '.join(self._dated)} were tried")
        return mended

    def _of_a_version(self, outcome: RunOutcome) -> bool:
        """Returns whether other package versions may help. Newer packages may reject valid checkpoints and arguments,
        or return different values and shapes."""
        if outcome.failure == "broken checkpoint":
            return not damaged(self.workspace, self.task.data)
        if outcome.failure not in ("error", "shape"):
            return outcome.failure == "removed API"
        by_itself = raised_by_itself(outcome.output_end, self.workspace.files)
        return not (by_itself or _UNDEFINED.search(outcome.problem or ""))

    def _found(self, outcome: RunOutcome) -> bool:
        """Adds a repository module to the module path if a run did not find the module or an installed package shadowed
        it. Returns whether a module was added."""
        for module in missing_modules(outcome.output_end):
            folder, name = folder_of_module(module, self.workspace.files), ""
            if folder is None:
                name = module.partition(".")[0]
                folder = folder_called(name, self.workspace.texts())
            if self._place(module, folder, name):
                return True
        return any(
            self._place(module, folder_that_defines(module, name, self.workspace.texts()))
            for module, name in lacking_modules(outcome.output_end)
        )

    def _place(self, module: str, folder: str | None, name: str = "") -> bool:
        place = f"{folder or 'the top folder'}{name and f' as {name}'}"
        if folder is None or place in self._placed or not _PLAIN_PATH.fullmatch(folder):
            return False
        self._placed.add(place)
        self.task = self.task.with_modules_of(folder, name)
        self.notes.append(f"the command sets PYTHONPATH to include {place}")
        self.notify(f"the module {module} is the repository's own: PYTHONPATH now includes {place}")
        return True

    def _with_folder(self, outcome: RunOutcome) -> bool:
        """Makes the setup create a missing folder that a run writes to, because Git does not store empty folders.
        Returns whether the setup was changed."""
        folder = missing_output_folder(outcome.output_end, self.task.run, self.workspace)
        command = f"mkdir -p {shlex.quote(folder)}"
        if not folder or command in (self.task.setup or ""):
            return False
        self.task = self.task.model_copy(update={"setup": " && ".join(filter(None, (self.task.setup, command)))})
        self.notes.append(f"the setup creates {folder}, which the command writes to")
        self.notify(f"the command writes to {printable_line(folder)}: the setup now creates that folder")
        return True

    def _without_display(self, outcome: RunOutcome) -> bool:
        """Replaces a matplotlib backend that needs a display with a backend that draws to files. Returns whether the
        backend was replaced."""
        if not (refused := _OF_A_DISPLAY.search(outcome.output_end)):
            return False
        quoted = re.compile(rf"""(["']){refused[1]}\1""", re.IGNORECASE)
        edits = tuple(
            FileEdit(file=path, kind="file", target="", text=quoted.sub('"Agg"', text))
            for path, text in self.workspace.texts().items()
            if path.endswith(".py") and quoted.search(text)
        )
        if edits:
            reason = f"the matplotlib backend {refused[1]} needs a display, so Agg draws to files instead"
            self._apply(outcome, "other", reason, edits=edits)
        return bool(edits)

    def _built(self, outcome: RunOutcome) -> bool:
        """Makes the setup build one of the repository's extension modules that a run did not find. Returns whether the
        setup was changed."""
        for module in missing_modules(outcome.output_end):
            command = build_of_extension(module, self.workspace.texts())
            if command is None or command in (self.task.setup or ""):
                continue
            self.task = self.task.model_copy(update={"setup": " && ".join(filter(None, (command, self.task.setup)))})
            reason = f"the extension module {module} is built first, by --setup '{command}'"
            self._apply(outcome, "missing import", reason, ("setuptools", "cython"))
            return True
        return False

    def _complete(self, outcome: RunOutcome, environment: Environment) -> bool:
        """Adds the package for a missing module. Returns whether a package was added."""
        completed = self._completion.after(outcome.output_end, environment)
        if completed is None:
            return False
        module = self._completion.modules[-1]
        package = LAST_WITH.get(module) or completed.provided[module].partition("==")[0]
        self._apply(outcome, "missing import", f"the module {module} is missing when the code runs", (package,))
        return True

    def _declared(self, outcome: RunOutcome, environment: Environment) -> bool:
        """Adds the remaining packages that the repository declares, because libraries may load packages by name,
        without an import. Returns whether packages were added."""
        stated = version_hints(self._stated().declared)
        present = {pin.partition("==")[0] for pin in environment.packages} | version_hints(
            self.workspace.texts().get(ADDED, "").splitlines()
        ).keys()
        lines = tuple(line for name, line in stated.items() if name not in present and name != PYTHON)
        if not lines:
            return False
        reason = "the command may need packages that the repository declares but its files do not import"
        self._apply(outcome, "missing import", reason, lines)
        return True

    def _stated(self) -> StatedPackages:
        stating = {
            path: text for path, text in self.workspace.texts().items() if path != ADDED and states_requirements(path)
        }
        return self.parser.packages({}, stating)

    def _with_its_own_cpu(self, outcome: RunOutcome, environment: Environment) -> bool:
        """Runs the failing code without replacing CUDA with the CPU, and returns whether it works. Some code falls back
        to the CPU by itself."""
        notes = tuple(note for note in environment.notes if IN_PLACE_OF_CUDA not in note)
        plain = environment.model_copy(update={"cpu": False, "notes": notes})
        if outcome.failure not in _OF_THE_CODE or self.run(plain).value is None:
            return False
        self._next = plain
        self.notes.append(f"the code chooses the CPU itself; with --cpu, {outcome.problem}")
        return True

    def _unpinned(self, outcome: RunOutcome, environment: Environment) -> bool:
        """If the required version of a package targets an older Python and fails in its own code, allows a newer
        version. Returns whether a newer version is now allowed."""
        frames = _FRAME.findall(outcome.output_end)
        module = _IN_PACKAGE.match(frames[-1]) if frames else None
        name, _, version = environment.provided.get(module[1] if module else "", "").partition("==")
        asked = Requirement(version_hints(self._stated().lines).get(name) or "none")
        if not any(each.operator in ("==", "<", "<=", "~=") for each in asked.specifier if each.contains(version)):
            return False
        newer = f"{name}>{version}"
        if newer in self.workspace.texts().get(ADDED, "").splitlines():
            return False
        reason = f"{name} {version}, required by the repository, does not run on this Python"
        self._apply(outcome, "version", reason, (newer,))
        return True

    def _on_another_python(self, outcome: RunOutcome) -> bool:
        """Switches to another installed Python version: the latest one if the code's syntax is too new, or the one from
        the commit's day if older packages may help. Returns whether the version changed."""
        others = installed()
        if outcome.failure == "error" and "SyntaxError" in (outcome.problem or ""):
            version = max(others, key=lambda other: int(other[2:]), default=None)
            version = version if version and int(version[2:]) > own().minor else None
            reason = f"its syntax is not valid in Python {own().version}"
        else:
            version = version_of(self.committed) if self._of_a_version(outcome) else None
            reason = f"the code is from {self.committed}, before Python {own().version}"
        if version not in others or "python==" in self.workspace.texts().get(ADDED, ""):
            return False
        self._apply(outcome, "version", reason, (f"python=={version}.*",))
        self.day = self.committed
        return True

    def _older(self, outcome: RunOutcome, environment: Environment) -> bool:
        """Switches to packages from another day: first the commit's day, then the first day with packages for this
        Python. Returns whether the day changed."""
        days = {self.committed: "the commit's half-year"} if self.committed else {}
        days |= {first_day(own().minor): "the first day with packages for this Python"}
        for day, name in days.items():
            if day in self._tried:
                continue
            self._tried.add(day)
            dated = self.packages(day, ())
            if dated.hash != environment.hash and len(dated.missing) <= len(environment.missing):
                others = "the newest" if self.day is None else f"those of {self.day}"
                self.notes = [note for note in self.notes if not note.startswith(_DATED)]
                self.notes.append(f"{_DATED} {name}, {day}; with {others}, {outcome.problem}")
                self.day, self._next = day, dated
                self._dated.append(day)
                return True
        return False

    def _repaired(self, outcome: RunOutcome, environment: Environment) -> bool:
        """Reports damaged data. Asks a model for a repair, unless data is damaged. Returns whether anything changed."""
        broken = damaged(self.workspace, self.task.data) if outcome.failure in _DATA_FAILURES else []
        empty = empty_folders(self.task.data) if outcome.failure in ("empty data", "missing data") else []
        named = [line for line in broken if line.partition(":")[0].rpartition("/")[2] in outcome.output_end]
        if outcome.failure == "broken checkpoint" and broken:
            self.causes += named or broken[:3]
            return False
        self.causes += [*named, *empty]
        if self.questions is None or outcome.failure in _BEYOND or named:
            return False
        if len(self.repairs) >= MOST_REPAIRS:
            self.causes.append(f"{MOST_REPAIRS} repairs did not help")
            return False
        try:
            fix = self._asked(self.questions, outcome, environment)
        except AnswerError as error:
            self.causes.append(f"the model found no repair ({error})")
            return False
        if not fix.possible:
            self.causes.append(f"the model: {fix.reason}")
            return False
        self._apply(outcome, fix.cause, fix.reason, fix.requirements, fix.edits)
        return True

    def _asked(self, questions: Questions, outcome: RunOutcome, environment: Environment) -> Fix:
        texts = self.workspace.texts()
        named = {path: text for path, text in texts.items() if path in outcome.output_end or path in outcome.command}
        rest = {path: text for path, text in texts.items() if path not in named}
        first = code(named, _CODE)
        inputs = {
            "files": "\n".join(self.workspace.listing()),
            "code": f"{first}\n\n{code(rest, max(0, _CODE - len(first)))}",
            "run": self._described(outcome, environment),
            "earlier": "\n".join(f"- {r.reason}\n{cut_middle(r.diff, 3000)}" for r in self.repairs),
        }

        def check(answer: Fix) -> str | None:
            if not answer.possible:
                return None
            try:
                self._changes(answer.edits, answer.requirements, texts)
            except EditError as error:
                return str(error)
            return None

        return questions.ask(load_prompt(PROMPTS / "fix.md"), Fix, inputs, about=str(outcome.failure), check=check)

    def _described(self, outcome: RunOutcome, environment: Environment) -> str:
        packages = ", ".join(environment.packages) or "none"
        missing = "; ".join(f"{name}: {why}" for name, why in environment.missing.items())
        return "\n".join(
            filter(
                None,
                (
                    f"command: {outcome.command}",
                    *(f"required metric: {metric}" for metric in self.task.metrics),
                    given(self.task.model_copy(update={"run": "", "metrics": (), "setup": None, "evaluate": None})),
                    f"packages: {packages}",
                    f"packages that could not be installed: {missing}" if missing else "",
                    f"kind of failure: {outcome.failure}",
                    f"what is wrong: {outcome.problem}",
                    f"end of its output:\n{outcome.output_end}",
                ),
            )
        )

    def _changes(
        self, edits: Sequence[FileEdit], requirements: Sequence[str], texts: Mapping[str, str]
    ) -> dict[str, str]:
        """Returns the files that a fix changes. Raises `EditError` if an edit or requirement is invalid or changes
        nothing."""
        changes = self.parser.applied(edits, texts) if edits else {}
        lines = texts.get(ADDED, "").splitlines()
        for line in requirements:
            try:
                requirement = Requirement(line)
                lines = [other for other in lines if Requirement(other).name != requirement.name]
            except InvalidRequirement as error:
                raise EditError(f"{line!a} is not a requirement ({error})") from error
            if requirement.url:
                raise EditError(f"{line!a}: packages come only from the index")
            lines.append(str(requirement))
        if requirements:
            changes[ADDED] = "\n".join(lines) + "\n"
        changes = {path: text for path, text in changes.items() if texts.get(path) != text}
        if not changes:
            raise EditError("nothing is changed; give edits or requirements, or say that no repair is possible")
        return changes

    def _apply(
        self,
        outcome: RunOutcome,
        cause: Cause,
        reason: str,
        requirements: Sequence[str] = (),
        edits: Sequence[FileEdit] = (),
    ) -> None:
        before = self.workspace.current.number
        reason = " ".join(reason.split())[:200] or "repair"
        texts = self.workspace.texts()
        try:
            changes = self._changes(edits, requirements, texts)
            version = self.workspace.edit(changes, f"Repair: {reason}")
        except EditError as error:
            raise InputError(f"a repair does not apply: {error}; remove the run's folder, and run again") from error
        self.repairs.append(
            Repair(
                commit=version.digest, cause=cause, reason=reason, diff=self.workspace.diff(before),
                failure=outcome.failure or "error", problem=outcome.problem or "",
                in_metric=self.parser.evaluation_changes(texts, {**texts, **changes}, self.task.metric),
            )
        )  # fmt: skip
        self.notify(f"repaired ({cause}): {reason}")
