"""Decides whether a run is done. The decision is based on running the code, not on a model's opinion."""

from collections.abc import Mapping, Sequence
from typing import Literal

from xkg.agents.codification.prompting.answers import ChangedSetting, PartPlace
from xkg.agents.codification.protected import says
from xkg.agents.codification.session import Session
from xkg.agents.workspace.command import RunResult
from xkg.agents.workspace.measured_run import remarks
from xkg.agents.workspace.program.outline import Outline
from xkg.value import Value

Class = Literal["A", "B", "C", "D"]
MEANING: dict[Class, str] = {
    "A": "error-free and better than the starter",
    "B": "error-free",
    "C": "has errors",
    "D": "nothing was implemented",
}


class Doubt(Value):
    """A question about an answer that has no faults. `about` identifies the question. `answer` is the agent's answer,
    or ''. `more` is shown only to the agent. The line numbers are set if the question is about lines in a file."""

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
    """The result of checking an answer. `faults` lists the problems that prevent acceptance, one per line. `doubts`
    lists the points that the agent must answer. `declared` lists the settings that the method changes, according to the
    agent. `places` contains the method's parts with their lines. `never_ran` contains changed lines that did not run.
    `evaluation_changes` and `setting_changes` are reported even if they are allowed. `touched` lists measurement files
    that the run overwrote or removed. `remarks` describe how the metric was computed, and are not faults."""

    faults: tuple[str, ...]
    doubts: tuple[Doubt, ...] = ()
    declared: tuple[ChangedSetting, ...] = ()
    metric: float | None
    places: tuple[PartPlace, ...]
    never_ran: dict[str, tuple[int, ...]]
    in_starter: tuple[str, ...]
    evaluation_changes: tuple[str, ...]
    setting_changes: tuple[str, ...]
    touched: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        return not self.faults and all(doubt.answer for doubt in self.doubts)


def judge(
    session: Session, result: RunResult, places: Sequence[PartPlace], declared: Sequence[ChangedSetting]
) -> Verdict:
    """Checks the work against the definition of done. The run must exit with 0, the metric must be readable, and every
    part must have a place whose changed lines were run. Settings and evaluation must be unchanged unless the method or
    the task allows the change. `result` is the traced run of the current version. The run may remove only files that
    the starter's run also removes."""
    task, workspace, reader, origin = session.task, session.workspace, session.reader, session.origin()
    faults: list[str] = []
    before, after = workspace.texts(0), workspace.texts()
    changed = workspace.changed_lines()
    if not workspace.changed():
        faults.append("no file differs from the starter: nothing is implemented")
    metric = None
    if result.problem is not None:
        faults.append(f"`{task.run}` fails: {result.problem}")
    else:
        metric, problem = result.metric_or_problem(task.parsed_metric, reader)
        faults += [f"the metric cannot be read: {problem}"] if problem else []
    if removed := sorted(set(result.removed) - set(session.baseline.removed)):
        faults.append(f"`{task.run}` removes files from its own folder: {', '.join(removed[:4])}; do not remove them")
    lines = result.lines or {}
    read = [path for path in {*changed, *(place.file for place in places)} if path in after and path.endswith(".py")]
    outlines = reader.outlines({path: after[path] for path in sorted(read)})
    misplaced, in_starter = _misplaced(session.parts, places, after, changed, lines, outlines)
    faults += misplaced
    never = {
        path: tuple(sorted(changed[path] & outline.executable - lines.get(path, {}).keys()))
        for path, outline in outlines.items()
        if path in changed
    }
    touched = origin.touched(result)
    if touched and not task.may_change_evaluation:
        faults.append(f"the run overwrote files with measurement code: {', '.join(touched[:4])}; do not write to them")
    measures = reader.evaluation_changes(before, after, task.parsed_metric, task.protected)
    if measures and not task.may_change_evaluation:
        faults.append(f"the evaluation was changed: {'; '.join(measures)}; undo these changes")
    differing = reader.setting_changes(before, after)
    allowed = {each.name for each in declared if says(session.method.text, each.method_says)}
    open_ = {name: values for name, values in differing.items() if name not in allowed}
    if open_:
        listed = "; ".join(f"{name}: {old} -> {new}" for name, (old, new) in list(open_.items())[:6])
        faults.append(
            f"settings of the starter were changed ({listed}); restore them, or declare each with a quotation "
            "from the method that asks for it"
        )
    return Verdict(
        faults=tuple(faults),
        declared=tuple(declared),
        metric=metric,
        places=tuple(places),
        never_ran={path: of for path, of in never.items() if of},
        in_starter=tuple(in_starter),
        evaluation_changes=tuple(measures),
        setting_changes=tuple(f"{name}: {old} -> {new}" for name, (old, new) in differing.items()),
        touched=touched,
        remarks=remarks(result, task.parsed_metric, reader, origin),
    )


def classify(session: Session, verdict: Verdict | None) -> Class:
    if not session.workspace.changed():
        return "D"
    if verdict is None or verdict.faults:
        return "C"
    assert verdict.metric is not None
    before = session.baseline.metric
    better = before is not None and session.task.parsed_metric.is_better(verdict.metric, before)
    return "A" if better else "B"


def _misplaced(
    parts: Sequence[str],
    places: Sequence[PartPlace],
    texts: Mapping[str, str],
    changed: Mapping[str, frozenset[int]],
    lines: Mapping[str, Mapping[int, int]],
    outlines: Mapping[str, Outline],
) -> tuple[list[str], list[str]]:
    faults, unchanged = [], []
    placed: dict[str, list[PartPlace]] = {}
    for place in places:
        placed.setdefault(place.part.strip().lower(), []).append(place)
    for part in parts:
        found = placed.get(part.strip().lower(), [])
        if not found:
            faults.append(f"the part {part!a} has no place; specify the file and lines that implement it")
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
                faults.append(f"{part!a} at {here}: the program ran none of {what}; call this code in the program")
    if parts and len(set(unchanged)) == len(set(parts)):
        faults.append("no part is on changed lines; specify the lines that were changed")
    return faults, unchanged
