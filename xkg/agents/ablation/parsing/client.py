"""Asks a confined process for what is in a repository's code and for what a change makes of it: neither its parsers nor
those of the standard library read untrusted source in this process."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from xkg.agents.ablation.candidates import Candidate, Component, Place, Replacement, Space
from xkg.agents.ablation.failures import Failure
from xkg.agents.workspace.edits import EditError, FileEdit
from xkg.build.code.settings import Setting
from xkg.errors import UnsafeInputError
from xkg.sandbox.isolation.confined_worker import Bounds, ConfinedWorker, WorkerDiedError
from xkg.value import Value

T = TypeVar("T", bound=BaseModel)

BOUNDS = Bounds(step_seconds=10, seconds=120, answer_mb=100)
MOST_DEADLY = 5
"""Files that may end the parsing process; the others are parsed again after each."""


class ParsedSpace(Value):
    """`protected` are the lines that compute the metric, `unparsed` the files that were left out."""

    space: Space
    protected: tuple[Place, ...]
    unparsed: tuple[str, ...]


class Function(Value):
    """A function of the repository: 1-based inclusive lines, its decorators included. From `body_line` on lines run
    only where it is called."""

    path: str
    name: str
    start_line: int
    end_line: int
    body_line: int
    source: str

    @property
    def place(self) -> Place:
        return Place(path=self.path, start_line=self.start_line, end_line=self.end_line, symbol=self.name)


class MutatedFiles(Value):
    """`after` are the files that change, with their new text; with a `failure` the candidate must not be run."""

    after: dict[str, str]
    diff: str
    failure: Failure | None
    problem: str | None


class EditedFiles(Value):
    """The files that edits change, and the same change as replacements of the texts before."""

    changed: dict[str, str]
    replacements: tuple[Replacement, ...]
    diff: str


class _Functions(Value):
    functions: tuple[Function, ...]


class SourceParser:
    """Safe to use from several threads. The process starts at the first call, and ends with the object."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._worker = ConfinedWorker(("xkg.agents.ablation.parsing.tasks",))
        self._bounds = bounds

    def close(self) -> None:
        self._worker.close()

    def space(
        self,
        texts: Mapping[str, str],
        settings: Sequence[Setting],
        techniques: Sequence[Component],
        *,
        given: Sequence[str],
        metric_keys: Sequence[str],
        executed: Mapping[str, Sequence[int]] | None,
    ) -> ParsedSpace:
        """As `find_space`, of the files that parse. Raises `UnsafeInputError` for sources that exceed the bounds."""
        payload = {
            "texts": dict(texts),
            "settings": [setting.model_dump(mode="json") for setting in settings],
            "techniques": [technique.model_dump(mode="json") for technique in techniques],
            "given": list(given),
            "metric_keys": list(metric_keys),
            "executed": None if executed is None else {path: list(lines) for path, lines in executed.items()},
        }
        parsed, deadly = self._of_files("space", payload, ParsedSpace)
        return parsed.model_copy(update={"unparsed": (*parsed.unparsed, *deadly)})

    def functions(self, texts: Mapping[str, str]) -> tuple[Function, ...]:
        """The functions of the Python files that parse, by path and line. Raises `UnsafeInputError`."""
        return self._of_files("functions", {"texts": dict(texts)}, _Functions)[0].functions

    def mutated(self, candidate: Candidate, texts: Mapping[str, str], protected: Sequence[Place]) -> MutatedFiles:
        """What a candidate makes of the files, checked as `refusal` does."""
        payload = {
            "texts": {r.path: texts[r.path] for r in candidate.replacements if r.path in texts},
            "candidate": candidate.model_dump(mode="json"),
            "protected": [place.model_dump(mode="json") for place in protected],
        }
        try:
            return self._answer("mutate", payload, MutatedFiles)
        except WorkerDiedError as died:
            return MutatedFiles(after={}, diff="", failure="refused", problem=f"it cannot be parsed ({died.reason})")

    def edited(self, edits: Sequence[FileEdit], texts: Mapping[str, str]) -> EditedFiles:
        """What edits make of the files. Raises `EditError` where they do not apply."""
        payload = {
            "texts": {edit.file: texts[edit.file] for edit in edits if edit.file in texts},
            "edits": [edit.model_dump(mode="json") for edit in edits],
        }
        try:
            answer = self._worker.call("edit", payload, self._bounds)
            found: dict[str, Any] = json.loads(answer)
            if found["problem"] is not None:
                raise EditError(str(found.pop("problem")))
            return EditedFiles.model_validate({name: value for name, value in found.items() if name != "problem"})
        except WorkerDiedError as died:
            raise EditError(f"the edited file cannot be parsed ({died.reason})") from died

    def _of_files(self, task: str, payload: Mapping[str, Any], kind: type[T]) -> tuple[T, list[str]]:
        """The answer for all files but those that end the process, and these."""
        until = time.monotonic() + self._bounds.seconds
        without: list[str] = []
        while True:
            try:
                return self._answer(task, {**payload, "without": without}, kind, until), without
            except WorkerDiedError as died:
                without.append(died.at)
                known = died.at in payload["texts"] and len(set(without)) == len(without)
                if not known or len(without) > MOST_DEADLY or time.monotonic() > until:
                    raise UnsafeInputError(
                        f"the code cannot be parsed ({died.reason} at {died.at or 'the whole'}): give the folder of "
                        "the experiment's code alone"
                    ) from died

    def _answer(self, task: str, payload: object, kind: type[T], until: float | None = None) -> T:
        seconds = self._bounds.seconds if until is None else max(1.0, until - time.monotonic())
        answer = self._worker.call(task, payload, replace(self._bounds, seconds=seconds))
        try:
            return kind.model_validate_json(answer)
        except ValueError as error:
            raise WorkerDiedError("crashed", "", "its answer cannot be read") from error
