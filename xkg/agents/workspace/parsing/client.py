"""Asks a confined process for what is in a workspace's files and for what edits make of them: no parser reads
untrusted source in this process."""

import base64
import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel

from xkg.agents.workspace.edits import EditError, FileEdit
from xkg.agents.workspace.evaluation import may_measure
from xkg.agents.workspace.metric import Metric
from xkg.agents.workspace.outline import Outline
from xkg.errors import MissingMetricError, NotANumberError, UnsafeInputError
from xkg.sandbox.isolation.confined_worker import Bounds, ConfinedWorker, Reason, WorkerDiedError
from xkg.value import Value

T = TypeVar("T", bound=BaseModel)

BOUNDS = Bounds(step_seconds=10, seconds=120, answer_mb=100)
MOST_DEADLY = 5
"""Files that may end the parsing process; the others are parsed again after each."""


class StatedPackages(Value):
    """`imports` are top-level packages with the names that are used of each, `lines` the requirements that files state.
    `unknown` are files that ended the parser, with the reason: what they ask for is in neither."""

    imports: dict[str, tuple[str, ...]]
    lines: tuple[str, ...]
    unknown: Mapping[str, Reason] = {}


class _Outlines(Value):
    outlines: dict[str, Outline]


class _Evaluation(Value):
    changes: tuple[str, ...]


class _Escapes(Value):
    escapes: tuple[str, ...]


class _Doubts(Value):
    doubts: tuple[str, ...]


class _Changed(Value):
    changed: dict[str, str]


class _MetricValue(Value):
    value: float | None = None
    missing: str | None = None
    no_number: str | None = None


class SourceReader:
    """One process for one run. It starts at the first call, and ends with `close` or the object. Safe to use from
    several threads. `left_out` are the files that ended the process, and why; they count as files that are not Python.

    A reader of one agent adds its tasks by `modules`."""

    modules: ClassVar[tuple[str, ...]] = ()

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._worker = ConfinedWorker(("xkg.agents.workspace.parsing.tasks", *self.modules))
        self._bounds = bounds
        self._deadly: dict[tuple[str, bytes], Reason] = {}
        self.left_out: dict[str, Reason] = {}

    def close(self) -> None:
        self._worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def packages(self, sources: Mapping[str, str], requirements: Mapping[str, str]) -> StatedPackages:
        """As `imported_packages` of the Python `sources` and `requirement_lines` of the files `requirements` (path →
        text), without what ends the parser. Raises `UnsafeInputError` for files that exceed the bounds."""
        payload = {"sources": dict(sources), "requirements": dict(requirements)}
        found, without = self.of_files("packages", payload, StatedPackages, (sources, requirements))
        return found.model_copy(update={"unknown": without})

    def outlines(self, texts: Mapping[str, str]) -> dict[str, Outline]:
        """As `outline`, of each Python file by its path; an empty one for what is no Python. Raises
        `UnsafeInputError`."""
        python = {path: text for path, text in texts.items() if path.endswith(".py")}
        found = self.of_files("outlines", {"texts": python}, _Outlines, (python,))[0].outlines if python else {}
        return {path: found.get(path, Outline()) for path in texts}

    def evaluation_changes(
        self, before: Mapping[str, str], after: Mapping[str, str], metric: Metric, protect: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """The parts of the evaluation of the texts `before` that are others in the texts `after`, as
        `changed_evaluation`. Raises `UnsafeInputError` for texts that exceed the bounds."""
        changed = {
            path: text for path, text in after.items() if before.get(path) != text and may_measure(path, protect)
        }
        starter = {path: text for path, text in before.items() if may_measure(path, protect)}
        gone = [path for path in starter if path not in after]
        if not changed and not gone:
            return ()
        payload = {
            "before": starter,
            "changed": changed,
            "gone": gone,
            "metric": metric.model_dump(mode="json"),
            "protect": list(protect),
        }
        return self.of_files("evaluation", payload, _Evaluation, (starter, changed))[0].changes

    def escapes(self, before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
        """The means around the fingerprint of the evaluation that the texts `after` begin to use
        (`xkg.agents.workspace.escapes`): in a file of `before` those that it did not have, in a new one those that none
        had. Raises `UnsafeInputError` for texts that exceed the bounds."""
        python = {path: text for path, text in after.items() if path.endswith(".py") and before.get(path) != text}
        if not python:
            return ()
        known = {
            path: text
            for path, text in before.items()
            if path.endswith(".py") and (path in python or not python.keys() <= before.keys())
        }
        payload = {"before": known, "after": python}
        return self.of_files("escapes", payload, _Escapes, (known, python))[0].escapes

    def doubts(
        self, texts: Mapping[str, str], lines: Mapping[str, Collection[int]], metric: float | None
    ) -> tuple[str, ...]:
        """What a person should look at in the added `lines` of Python files, as
        `xkg.agents.workspace.escapes.doubts`. Raises `UnsafeInputError`."""
        python = {path: texts[path] for path in lines if path.endswith(".py") and path in texts}
        if not python:
            return ()
        payload = {"texts": python, "lines": {path: sorted(lines[path]) for path in python}, "metric": metric}
        return self.of_files("doubts", payload, _Doubts, (python,))[0].doubts

    def metric(self, metric: Metric, output: str, files: Mapping[str, bytes]) -> float:
        """The value of a metric in the output and files of a run, as `Metric.read`; also raises `MissingMetricError` if
        that exceeds the bounds."""
        payload = {
            "metric": metric.model_dump(mode="json"),
            "output": output,
            "files": {path: base64.b64encode(content).decode() for path, content in files.items()},
        }
        try:
            found = self.answer("metric", payload, _MetricValue)
        except WorkerDiedError as died:
            raise MissingMetricError(_unread(metric, died.reason, self._bounds)) from died
        if found.no_number is not None:
            raise NotANumberError(found.no_number)
        if found.value is None:
            raise MissingMetricError(found.missing or "the run left no value of the metric")
        return found.value

    def applied(self, edits: Sequence[FileEdit], texts: Mapping[str, str]) -> dict[str, str]:
        """As `xkg.agents.workspace.edits.applied`. Raises `EditError` also where the result cannot be parsed within the
        bounds."""
        return self.of_edits("apply", edits, texts, _Changed).changed

    def of_edits(self, task: str, edits: Sequence[FileEdit], texts: Mapping[str, str], kind: type[T]) -> T:
        """The answer of a task to edits and the files that they name. Raises `EditError`."""
        payload = {
            "texts": {edit.file: texts[edit.file] for edit in edits if edit.file in texts},
            "edits": [edit.model_dump(mode="json") for edit in edits],
        }

        def read(answer: bytes) -> T:
            found: dict[str, Any] = json.loads(answer)
            if (problem := found.pop("problem")) is not None:
                raise EditError(str(problem))
            return kind.model_validate(found)

        try:
            return self._read(task, payload, read)
        except WorkerDiedError as died:
            raise EditError(f"the edited file cannot be parsed ({died.reason})") from died

    def of_files(
        self, task: str, payload: Mapping[str, Any], kind: type[T], texts: Sequence[Mapping[str, str]]
    ) -> tuple[T, dict[str, Reason]]:
        """The answer of a task for all files of `texts` but those that end the process, and these: the task marks each
        file by its path, and passes over those of `without`. Raises `UnsafeInputError`."""
        until = time.monotonic() + self._bounds.seconds
        keys = {path: {_key(path, each[path]) for each in texts if path in each} for each in texts for path in each}
        known = {path: self._deadly[k] for path, of in keys.items() for k in of if k in self._deadly}
        without: dict[str, Reason] = dict(known)
        while True:
            try:
                return self.answer(task, {**payload, "without": list(without)}, kind, until), without
            except WorkerDiedError as died:
                again = died.at in without or died.at not in keys
                if again or len(without) >= MOST_DEADLY or time.monotonic() > until:
                    raise UnsafeInputError(
                        f"the code cannot be parsed ({died.reason} at {died.at or 'the whole'}): give the folder of "
                        "the experiment's code alone"
                    ) from died
                without[died.at] = self.left_out[died.at] = died.reason
                if len(keys[died.at]) == 1:  # else one of its versions may be harmless
                    self._deadly |= dict.fromkeys(keys[died.at], died.reason)

    def answer(self, task: str, payload: object, kind: type[T], until: float | None = None) -> T:
        """The answer of a task as a value. Raises `WorkerDiedError` where there is none, or one that is no such
        value."""
        return self._read(task, payload, kind.model_validate_json, until)

    def _read(self, task: str, payload: object, read: Callable[[bytes], T], until: float | None = None) -> T:
        seconds = self._bounds.seconds if until is None else max(1.0, until - time.monotonic())
        answer = self._worker.call(task, payload, replace(self._bounds, seconds=seconds))
        try:
            return read(answer)
        except EditError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise WorkerDiedError("crashed", "", "its answer cannot be read") from error


def _unread(metric: Metric, reason: Reason, bounds: Bounds) -> str:
    what = f"the pattern {metric.key!a}" if metric.source == "output" else f"{metric.path}#{metric.key}"
    if reason == "too-slow" and metric.source == "output":
        return (
            f"{what} takes more than {bounds.step_seconds:g} s on the output: write fewer repetitions into it, such as "
            "'accuracy = ([0-9.]+)' for '.*accuracy.*=.*([0-9.]+)'"
        )
    return f"{what} cannot be read ({reason}): print or store less beside the number"


def _key(path: str, text: str) -> tuple[str, bytes]:
    return path, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
