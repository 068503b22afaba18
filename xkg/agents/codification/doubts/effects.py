"""Finds changes that have no effect. Runs the answer without each change, and once more while recording arithmetic
operations.

All runs draw the same random numbers. The number of runs is limited, and their total time is limited to that of a
single run."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from xkg.agents.codification.parsing import reverted_versions, watched_files
from xkg.agents.codification.reverted import RECORD, Operation, Reverted
from xkg.agents.codification.session import Session
from xkg.agents.codification.verdict import Doubt
from xkg.agents.workspace.command import RunResult
from xkg.agents.workspace.files.workspace import Workspace
from xkg.value import Value

_MOST_RUNS = 12
_LONGEST_TRIAL = 5
"""A trial's time limit, as a multiple of the answer's own run time. The limit is needed because removing a statement
such as `i += 1` can create an infinite loop."""
_SAME_NUMBERS = ("same_numbers",)


class Effects(Value):
    """Doubts about changes that have no effect. `notes` describes changes that were not tried."""

    doubts: tuple[Doubt, ...] = ()
    notes: tuple[str, ...] = ()


def effects(session: Session, result: RunResult) -> Effects:
    """Finds changes that ran but do not affect the metric. `result` is a traced run of the current files. Caches the
    result for the files' current content."""

    def find() -> Effects:
        with tempfile.TemporaryDirectory(prefix="xkg-trials-") as folder:
            return _Trials(session, session.workspace.copied(Path(folder) / "copy"), result).effects()

    return session.operations.do("effects", {"files": session.digest()}, Effects, find)


class _Trials:
    def __init__(self, session: Session, copy: Workspace, result: RunResult) -> None:
        self._session = session
        self._copy = copy
        self._ran = {path: frozenset(of) for path, of in (result.lines or {}).items()}
        self._seconds = result.seconds
        self._commands = session.commands.within(_LONGEST_TRIAL * (1 + result.seconds))
        self._left = session.commands.limits.seconds

    def effects(self) -> Effects:
        before, after = self._copy.texts(0), self._copy.texts()
        changed = self._copy.changed_lines()
        paths = [path for path in changed if path in after and path.endswith(".py") and self._ran.get(path)]
        if not paths:
            return Effects()
        texts = {path: after[path] for path in paths}
        old = {path: before.get(path, "") for path in paths}
        versions = self._session.reader.of_files(
            reverted_versions, {"before": old, "after": texts}, changed=changed, ran=self._ran
        )
        metric = self._metric({}) if versions else None
        if metric is not None and metric != self._metric({}):
            again = Doubt(
                about="repeated runs",
                text="two runs of the same code give different metrics, so no run shows which changes have an effect: "
                "draw all random numbers from generators of random, NumPy or PyTorch",
            )
            return Effects(doubts=(again,))
        found: list[Doubt] = []
        tried = 0
        for version in versions if metric is not None else ():
            if tried == _MOST_RUNS or self._left < self._seconds:
                break
            tried += 1
            known = _known(found, version.path, version.start_line, version.end_line)
            if not known and self._metric({version.path: version.text}) == metric:
                found.append(_without_effect(version, after[version.path]))
        watched = {path: self._ran[path] & changed[path] for path in paths}
        found += [
            each
            for each in self._given_back(texts, watched)
            if not _known(found, each.path, each.start_line, each.end_line)
        ]
        left = len(versions) - tried
        most = f"at most {_MOST_RUNS} can be tried, within the time limit of one run"
        notes = (f"{left} of {len(versions)} changes were not tried separately: {most}",) if left else ()
        return Effects(doubts=tuple(found), notes=notes)

    def _metric(self, changes: Mapping[str, str]) -> float | None:
        session = self._session
        if changes:
            self._copy.edit(changes, "try")
        result = session.measured(self._copy, self._commands, first=_SAME_NUMBERS)
        if changes:
            self._copy.undo()
        self._left -= result.seconds
        return result.metric_or_problem(session.task.parsed_metric, session.reader)[0] if result.ok else None

    def _given_back(self, texts: Mapping[str, str], lines: Mapping[str, frozenset[int]]) -> Iterator[Doubt]:
        """Yields a doubt for each line on which an operation's result always equalled one of its operands. If there are
        several such operations, reports the outermost one."""
        files = self._session.reader.of_files(watched_files, {"texts": texts}, lines=lines)
        if not files:
            return
        self._copy.edit({path: file.text for path, file in files.items()}, "record operations")
        wanted = {path: f"{path}{RECORD}" for path in files}
        result = self._commands.run(
            self._copy, self._session.task.run, wanted=list(wanted.values()), first=("operations", *_SAME_NUMBERS)
        )
        for path, file in files.items():
            yield from _told(file.operations, result.files.get(wanted[path], b""))


def _known(found: Sequence[Doubt], path: str, start_line: int, end_line: int) -> bool:
    return any(each.path == path and each.start_line <= start_line and end_line <= each.end_line for each in found)


def _without_effect(version: Reverted, text: str) -> Doubt:
    lines = text.split("\n")[version.start_line - 1 : version.end_line]
    line = next((each.strip() for each in lines if each.strip()), "")[:100]
    same = f"the metric is the same to the last digit without this change (`{line}`)"
    return Doubt.at(version.path, version.start_line, version.end_line, same)


def _told(operations: tuple[Operation, ...], written: bytes) -> Iterator[Doubt]:
    """Parses the recorded operations. Treats the file as untrusted, because the code under test could have written
    it."""
    try:
        found = {int(number): (int(times), int(side)) for number, (times, side) in json.loads(written).items()}
    except (ValueError, TypeError, AttributeError):
        return
    lines: set[tuple[str, int]] = set()
    for number, (times, side) in sorted(found.items()):
        operation = operations[number] if 0 <= number < len(operations) and side in (0, 1) else None
        if operation is None or times < 2 or (operation.path, operation.line) in lines:
            continue
        lines.add((operation.path, operation.line))
        yield Doubt.at(
            operation.path,
            operation.line,
            operation.line,
            f"`{operation.code}` was `{operation.operands[side]}` all {times} times that it ran",
        )
