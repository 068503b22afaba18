"""Parses a workspace's files and applies edits in the confined process, to keep untrusted source out of this
process."""

import ast
import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from xkg.agents.workspace.files import edits as file_edits
from xkg.agents.workspace.files.edits import EditError, FileEdit
from xkg.agents.workspace.program.evaluation import changed_evaluation, evaluation, may_measure
from xkg.agents.workspace.program.metric import Metric
from xkg.agents.workspace.program.outline import Outline, outline
from xkg.agents.workspace.program.started_files import started_files
from xkg.build.parsing.parsers import Parsers, without_deadly
from xkg.build.parsing.typed_tasks import Mark, tasks
from xkg.build.requirements import read_requirements
from xkg.build.slicing.scoping.broken_statements import without_broken_statements
from xkg.build.slicing.scoping.imported_names import imported_packages
from xkg.errors import MetricError
from xkg.sandbox.isolation.confined_worker import Bounds, Reason, WorkerDiedError
from xkg.value import Value

T = TypeVar("T")
Texts = Mapping[str, str]
Without = Mapping[str, Reason]
"""The files that crashed the confined process, each with the reason. Tasks skip these files."""

BOUNDS = Bounds(step_seconds=10, seconds=120, answer_mb=100)


class StatedPackages(Value):
    """The packages that a workspace imports or declares. `imports` maps top-level packages to the names used from each.
    `lines` and `declared` contain requirements from files, as in `read_requirements`. `unknown` contains the files that
    crashed the parser, each with the reason. The requirements in these files are missing."""

    imports: dict[str, tuple[str, ...]]
    lines: tuple[str, ...]
    declared: tuple[str, ...]
    unknown: Mapping[str, Reason] = {}


def packages(mark: Mark, sources: Texts, requirements: Texts, command: str, without: Without) -> StatedPackages:
    """Returns the imports in Python files, and the lines in requirement files. If a command starts some of the Python
    files, returns only the imports in these files."""
    trees: dict[str, ast.Module] = {}
    for path, text in marked(mark, sources, without) if command else ():
        if parsed := without_broken_statements(text):
            trees[path] = parsed[1]
    started = started_files(trees, command)
    used = {path: text for path, text in sources.items() if not started or path in started}
    imports = imported_packages(text for _, text in marked(mark, used, without))
    stated = {path: text for path, text in requirements.items() if path not in without}
    required = read_requirements(stated, mark)
    return StatedPackages(
        imports=imports,
        lines=tuple(required.lines),
        declared=() if started else tuple(required.declared),
        unknown=without,
    )


def outlines(mark: Mark, texts: Texts, without: Without) -> dict[str, Outline]:
    """Returns each file's outline. The outline is empty for files that are not valid Python."""
    python = {path: text for path, text in texts.items() if path.endswith(".py")}
    return {path: Outline() for path in texts} | {path: outline(text) for path, text in marked(mark, python, without)}


def applied(mark: Mark, texts: Texts, edits: Sequence[FileEdit]) -> dict[str, str] | str:
    """Returns the files that edits change, with their new text, or a message that says why the edits are refused."""
    mark("edits")
    try:
        return file_edits.applied(texts, edits)
    except EditError as error:
        return str(error)


def evaluation_changes(
    mark: Mark,
    before: Texts,
    changed: Texts,
    gone: Sequence[str],
    metric: Metric,
    protect: Sequence[str],
    without: Without,
) -> tuple[str, ...]:
    """Returns the parts of the starter's evaluation that changed. New files that cannot be parsed count as changes,
    because they may reassign any part."""

    def parts(files: Texts) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for path, text in files.items():
            mark(path)
            found[path] = evaluation({path: text}, metric, protect, set(without))
        return found

    def joined(parts: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        return dict(sorted(item for of in parts.values() for item in of.items()))

    starter = parts(before)
    digests = joined(starter)
    now = joined({path: of for path, of in starter.items() if path not in gone} | parts(changed))
    changes = changed_evaluation(digests, now, {})
    for path, text in changed.items():
        if path in without:
            changes += [] if path in before else [f"{path} cannot be parsed"]
            continue
        mark(path)
        changes += changed_evaluation(digests, digests, {path: text}, {path: before[path]} if path in before else {})
    return tuple(changes)


def measuring(mark: Mark, texts: Texts, metric: Metric, protect: Sequence[str], without: Without) -> tuple[str, ...]:
    """Returns the files that contain part of the evaluation. Includes files that cannot be parsed, because they may
    contain part of it."""
    found = [path for path, text in marked(mark, texts, without) if evaluation({path: text}, metric, protect)]
    return tuple(sorted({*found, *(without.keys() & texts.keys())}))


def metric_value(mark: Mark, metric: Metric, output: str, files: Mapping[str, str]) -> float | str:
    """Returns the value of a metric in a run's output and files (in Base64), or a message that says why the metric
    cannot be read. Matching can take hours if the metric's pattern backtracks."""
    mark("metric")
    try:
        return metric.read(output, {path: base64.b64decode(text) for path, text in files.items()})
    except MetricError as error:
        return str(error)


def marked(mark: Mark, texts: Texts, without: Without) -> Iterator[tuple[str, str]]:
    """Yields the files to parse, announcing each file before it is parsed."""
    for path, text in sorted(texts.items()):
        if path not in without:
            mark(path)
            yield path, text


TASKS = tasks(packages, outlines, applied, evaluation_changes, measuring, metric_value)


class SourceReader:
    """Calls the confined process for one run. This class is thread-safe. `left_out` contains the files that crashed a
    call, each with the reason. Later calls do not treat these files as Python."""

    def __init__(self, parsers: Parsers, bounds: Bounds = BOUNDS) -> None:
        self._parsers = parsers
        self._bounds = bounds
        self._deadly: dict[tuple[str, bytes], Reason] = {}
        self.left_out: dict[str, Reason] = {}

    def packages(self, sources: Texts, requirements: Texts, command: str = "") -> StatedPackages:
        """Returns the results of `imported_packages` for the Python `sources` and of `read_requirements` for
        `requirements` (path → text), without files that crash the parser. If a command starts some of the sources,
        returns only the imports in these files, and no declared packages. Raises `UnsafeInputError` if files exceed the
        bounds."""
        return self.of_files(packages, {"sources": sources, "requirements": requirements}, command=command)

    def outlines(self, texts: Texts) -> dict[str, Outline]:
        """Returns the result of `outline` for each Python file, by path. Raises `UnsafeInputError` if files exceed the
        bounds."""
        return self.of_files(outlines, {"texts": texts}) if texts else {}

    def evaluation_changes(
        self, before: Texts, after: Texts, metric: Metric, protect: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Returns the parts of the evaluation that differ between the texts `before` and `after`, as
        `changed_evaluation` does. Raises `UnsafeInputError` if texts exceed the bounds."""
        starter = {path: text for path, text in before.items() if may_measure(path, protect)}
        changed = {
            path: text for path, text in after.items() if before.get(path) != text and may_measure(path, protect)
        }
        gone = [path for path in starter if path not in after]
        if not changed and not gone:
            return ()
        texts = {"before": starter, "changed": changed}
        return self.of_files(evaluation_changes, texts, gone=gone, metric=metric, protect=protect)

    def measuring(self, texts: Texts, metric: Metric, protect: Sequence[str] = ()) -> tuple[str, ...]:
        """Returns the sorted paths of files that contain part of the evaluation (see `evaluation`). Raises
        `UnsafeInputError` if files exceed the bounds."""
        files = {path: text for path, text in texts.items() if may_measure(path, protect)}
        return self.of_files(measuring, {"texts": files}, metric=metric, protect=protect) if files else ()

    def applied(self, edits: Sequence[FileEdit], texts: Texts) -> dict[str, str]:
        """Calls `xkg.agents.workspace.files.edits.applied` in the confined process. Also raises `EditError` if the
        result cannot be parsed within the bounds."""
        named = {edit.file: texts[edit.file] for edit in edits if edit.file in texts}
        try:
            found = self.ask(applied, texts=named, edits=edits)
        except WorkerDiedError as died:
            raise EditError(f"the edited file cannot be parsed ({died.reason})") from died
        if isinstance(found, str):
            raise EditError(found)
        return found

    def metric(self, metric: Metric, output: str, files: Mapping[str, bytes]) -> float:
        """Calls `Metric.read` in the confined process. Also raises `MetricError` if reading the metric exceeds the
        bounds."""
        encoded = {path: base64.b64encode(content).decode() for path, content in files.items()}
        try:
            found = self.ask(metric_value, metric=metric, output=output, files=encoded)
        except WorkerDiedError as died:
            raise MetricError(_unread(metric, died.reason, self._bounds)) from died
        if isinstance(found, str):
            raise MetricError(found)
        return found

    def ask(self, task: Callable[..., T], **given: object) -> T:
        """Returns a task's answer. Raises `WorkerDiedError` if the task crashes the process or exceeds the bounds."""
        return self._parsers.ask(task, self._bounds, **given)

    def of_files(self, task: Callable[..., T], texts: Mapping[str, Texts], **given: object) -> T:
        """Returns a task's answer for all files in `texts`, without files that crash the process. The task must
        announce each file by its path and skip the files in `without`. Raises `UnsafeInputError` if files exceed the
        bounds."""
        keys: dict[str, set[tuple[str, bytes]]] = {}
        for path, text in (item for of in texts.values() for item in of.items()):
            keys.setdefault(path, set()).add((path, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()))
        known = {path: self._deadly[key] for path, of in keys.items() for key in of if key in self._deadly}

        def attempt(without: Mapping[str, Reason], bounds: Bounds) -> T:
            return self._parsers.ask(task, bounds, **texts, **given, without=without)

        found, without = without_deadly("the code", keys, self._bounds, attempt, known)
        for path in without.keys() - known.keys():
            self.left_out[path] = without[path]
            if len(keys[path]) == 1:  # if there are several versions of the file, some may be harmless
                self._deadly |= dict.fromkeys(keys[path], without[path])
        return found


def _unread(metric: Metric, reason: Reason, bounds: Bounds) -> str:
    place = f"the pattern {metric.key!a}" if metric.source == "output" else f"{metric.path}#{metric.key}"
    if reason == "too-slow" and metric.source == "output":
        return (
            f"{place} takes more than {bounds.step_seconds:g} s on the output; use fewer repetitions, such as "
            "'accuracy = ([0-9.]+)' instead of '.*accuracy.*=.*([0-9.]+)'"
        )
    return f"{place} cannot be read ({reason}); reduce the output or the file that contains the number"
