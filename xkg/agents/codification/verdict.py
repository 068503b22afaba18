"""Decides when a run is done, based on evidence from running the code, not on a model's opinion."""

from collections.abc import Mapping, Sequence
from typing import Literal

from xkg.agents.codification.parsing import CodeReader
from xkg.agents.codification.prompting.answers import ChangedSetting, DoubtAnswer, PartPlace
from xkg.agents.codification.protected import says
from xkg.agents.codification.task import Method, Task
from xkg.agents.workspace.command import RunResult
from xkg.agents.workspace.measured_run import Origin, remarks
from xkg.agents.workspace.outline import Outline
from xkg.agents.workspace.workspace import MAX_FILE_BYTES, Workspace
from xkg.value import Value

Class = Literal["A", "B", "C", "D"]
MEANING: dict[Class, str] = {
    "A": "error-free and better than the starter",
    "B": "error-free",
    "C": "erroneous",
    "D": "nothing was implemented",
}


class Doubt(Value):
    """An open question about an answer without faults. `about` identifies it for the agent's `answer`, which is '' if
    there is none; `more` is shown only to the agent. Line numbers are set if it concerns lines in a file."""

    about: str
    text: str
    answer: str = ""
    more: str = ""
    path: str = ""
    start_line: int = 0
    end_line: int = 0

    @classmethod
    def at(cls, path: str, start_line: int, end_line: int, text: str) -> "Doubt":
        lines = str(start_line) if start_line == end_line else f"{start_line}-{end_line}"
        return cls(about=f"{path}:{lines}", text=text, path=path, start_line=start_line, end_line=end_line)

    def __str__(self) -> str:
        return f"{self.about}: {self.text}"


class Verdict(Value):
    """`faults` lists the reasons why the work is not done, one line each; `doubts` lists points that the agent has to
    answer. `declared` lists the settings that, according to the agent, the method changes. `places` are the method's
    parts with their lines. `ran` lists their changed lines that were executed, `never_ran` those that were not.
    `evaluation_changes` and `setting_changes` are reported even if allowed. `touched` lists measuring files that the
    run overwrote or removed. `remarks` say how the metric was computed; they are not faults."""

    faults: tuple[str, ...]
    doubts: tuple[Doubt, ...] = ()
    declared: tuple[ChangedSetting, ...] = ()
    metric: float | None
    places: tuple[PartPlace, ...]
    ran: dict[str, tuple[int, ...]]
    never_ran: dict[str, tuple[int, ...]]
    in_starter: tuple[str, ...]
    evaluation_changes: tuple[str, ...]
    setting_changes: tuple[str, ...]
    touched: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def answers(self) -> tuple[DoubtAnswer, ...]:
        return tuple(DoubtAnswer(about=each.about, answer=each.answer) for each in self.doubts if each.answer)

    @property
    def accepted(self) -> bool:
        return not self.faults and all(doubt.answer for doubt in self.doubts)


def texts_of(workspace: Workspace, version: int | None = None) -> dict[str, str]:
    """The text files in a version (the current one by default), except those that are too large for an edit."""
    files = workspace.files if version is None else workspace.files_of(version)
    return {
        path: file.content.decode("utf-8", "replace")
        for path, file in files.items()
        if len(file.content) <= MAX_FILE_BYTES and b"\0" not in file.content[:8192]
    }


def judge(
    task: Task,
    method: Method,
    parts: Sequence[str],
    workspace: Workspace,
    result: RunResult | None,
    places: Sequence[PartPlace],
    declared: Sequence[ChangedSetting],
    reader: CodeReader,
    origin: Origin,
    starter_removes: Sequence[str] = (),
) -> Verdict:
    """Checks the work against the definition of done: the run exits 0, the metric is read, every part has a place whose
    changed lines were executed, and settings and evaluation are the starter's unless the method says otherwise.
    `result` is the traced run of the current version, from this `origin`; None if it was not run. `starter_removes`
    lists files that the starter's run removes from its copy; the work may not remove any others."""
    faults: list[str] = []
    before, after = texts_of(workspace, 0), texts_of(workspace)
    changed = workspace.changed_lines()
    if not workspace.changed():
        faults.append("no file differs from the starter: nothing is implemented")
    metric = None
    if result is None:
        faults.append("the code was not run")
    elif result.problem is not None:
        faults.append(f"`{task.run}` fails: {result.problem}")
    else:
        metric, problem = result.metric_or_problem(task.parsed_metric, reader)
        faults += [f"the metric cannot be read: {problem}"] if problem else []
    removed = sorted(set(result.removed) - set(starter_removes)) if result is not None else []
    if removed:
        faults.append(f"`{task.run}` removes files from its own folder: {', '.join(removed[:4])}; do not remove them")
    lines = (result.lines if result else None) or {}
    read = [path for path in {*changed, *(place.file for place in places)} if path in after and path.endswith(".py")]
    outlines = reader.outlines({path: after[path] for path in sorted(read)})
    misplaced, in_starter = _misplaced(parts, places, after, changed, lines, outlines)
    faults += misplaced
    ran = {path: tuple(sorted(of & lines.get(path, {}).keys())) for path, of in changed.items() if path.endswith(".py")}
    never = {
        path: tuple(sorted(changed[path] & outlines[path].executable - set(of)))
        for path, of in ran.items()
        if path in outlines
    }
    touched = origin.touched(result) if result else ()
    if touched and not task.may_change_evaluation:
        faults.append(f"the run overwrote files that measure: {', '.join(touched[:4])}; do not write to them")
    measures = reader.evaluation_changes(before, after, task.parsed_metric, task.protected)
    if measures and not task.may_change_evaluation:
        faults.append(f"the evaluation was changed: {'; '.join(measures)}; undo that")
    differing = reader.setting_changes(before, after)
    allowed = {each.name for each in declared if says(method.text, each.method_says)}
    open_ = {name: values for name, values in differing.items() if name not in allowed}
    if open_:
        listed = "; ".join(f"{name}: {old} -> {new}" for name, (old, new) in list(open_.items())[:6])
        faults.append(
            f"settings of the starter were changed ({listed}); restore them, or name each with the method's own words "
            "that ask for it"
        )
    return Verdict(
        faults=tuple(faults),
        declared=tuple(declared),
        metric=metric,
        places=tuple(places),
        ran={path: of for path, of in ran.items() if of},
        never_ran={path: of for path, of in never.items() if of},
        in_starter=tuple(in_starter),
        evaluation_changes=tuple(measures),
        setting_changes=tuple(f"{name}: {old} -> {new}" for name, (old, new) in differing.items()),
        touched=touched,
        remarks=remarks(result, task.parsed_metric, reader, origin) if result else (),
    )


def classify(task: Task, workspace: Workspace, verdict: Verdict | None, baseline: float | None) -> Class:
    """The published class for a result."""
    if not workspace.changed():
        return "D"
    if verdict is None or verdict.faults:
        return "C"
    assert verdict.metric is not None
    better = baseline is not None and task.parsed_metric.is_better(verdict.metric, baseline)
    return "A" if better else "B"


def _misplaced(
    parts: Sequence[str],
    places: Sequence[PartPlace],
    texts: Mapping[str, str],
    changed: Mapping[str, frozenset[int]],
    lines: Mapping[str, Mapping[int, int]],
    outlines: Mapping[str, Outline],
) -> tuple[list[str], list[str]]:
    """The problems with the parts' places, and the parts without any change."""
    faults, unchanged = [], []
    placed: dict[str, list[PartPlace]] = {}
    for place in places:
        placed.setdefault(place.part.strip().lower(), []).append(place)
    for part in parts:
        found = placed.get(part.strip().lower(), [])
        if not found:
            faults.append(f"the part {part!a} has no place: say in which lines of which file it is done")
        for place in found:
            text = texts.get(place.file)
            if text is None or not 1 <= place.start_line <= place.end_line <= text.count("\n") + 1:
                faults.append(f"{part!a}: there are no lines {place.start_line}-{place.end_line} in {place.file!a}")
                continue
            span = frozenset(range(place.start_line, place.end_line + 1))
            if not place.file.endswith(".py"):
                continue
            code = outlines[place.file].steps
            new = span & changed.get(place.file, frozenset()) & code
            unchanged += [] if new else [part]
            here = f"{place.file}:{place.start_line}-{place.end_line}"
            if not (new or span) & lines.get(place.file, {}).keys() & code:
                what = "its changed lines" if new else "its lines"
                faults.append(f"{part!a} at {here}: none of {what} ran; call it from what `run` starts")
    if parts and len(set(unchanged)) == len(set(parts)):
        faults.append("no part is at lines that were changed: name the lines that were")
    return faults, unchanged
