"""Executes an agent's actions. If an action fails, the failure becomes the agent's observation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xkg.agents.codification.doubts.find import doubted
from xkg.agents.codification.prompting.answers import (
    ActionInput,
    ChangedSetting,
    DoubtAnswer,
    PartPlace,
    Step,
)
from xkg.agents.codification.session import Session
from xkg.agents.codification.verdict import Verdict, judge
from xkg.agents.workspace.command import RunResult, cut_middle, numbered, with_counts
from xkg.agents.workspace.files.edits import EditError, FileEdit
from xkg.errors import InputError

_MOST_LINES = 400
_MOST_DIFF = 20_000

_ANSWER = (
    "change the code, or give the final answer again with `answers`: for each doubt, identified by its name in "
    "backquotes, a sentence on why the code still does what the method says, or why the check is wrong"
)

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "inspect_lines": ("file",),
    "search_techniques": ("text",),
    "get_code": ("text",),
    "locate": ("text",),
    "graph_context": ("text",),
    "copy_file": ("file", "to"),
    "edit": ("edits", "text"),
    "final_answer": ("final",),
}


@dataclass(frozen=True)
class Observation:
    """The outcome of an action. The first line of `text` states how the action ended. `verdict` is set for a final
    answer."""

    text: str
    verdict: Verdict | None = None


class Actions:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._workspace = session.workspace
        self._do: dict[str, Callable[[ActionInput], str]] = {
            "list_files": lambda _: self._listed(),
            "inspect_lines": self._lines,
            "code_diff": self._diff,
            "search_techniques": lambda given: session.library.search(given.text or ""),
            "get_code": lambda given: session.library.code(given.text or ""),
            "graph_context": lambda given: session.library.context(given.text or ""),
            "locate": lambda given: session.library.locate(given.text or "", self._workspace.tree),
            "copy_file": self._copied,
            "undo_edit": lambda _: self._undone(),
            "execute_script": self._executed,
            "edit": self._edited,
        }

    def objection(self, step: Step) -> str | None:
        """Returns None if the step is valid. Otherwise, returns a message that tells the model which input is missing
        or which edit does not apply."""
        if missing := [name for name in _NEEDED.get(step.action, ()) if getattr(step.action_input, name) in (None, "")]:
            return f"{step.action} needs {' and '.join(missing)} in action_input"
        try:
            self._changes(step.action_input.edits or ())
        except (EditError, InputError) as error:
            return str(error)
        return None

    def do(self, step: Step, last: Verdict | None) -> Observation:
        """Executes a step's action and returns the observation. `last` is the verdict on the previous answer."""
        given, edited = step.action_input, ""
        try:
            if step.action == "final_answer":
                assert given.final is not None
                edited = f"\nyour edits stay: {self._edited(given)}" if given.edits else ""
                seen = self.finish(given.final.places, given.final.changed_settings, given.final.answers, last)
                return replace(seen, text=seen.text + edited)
            text = self._do[step.action](given)
        except (InputError, EditError) as error:
            text = f"refused: {error}{edited}"
        return Observation(cut_middle(text, self._session.settings.observation))

    def finish(
        self,
        places: Sequence[PartPlace],
        declared: Sequence[ChangedSetting],
        answers: Sequence[DoubtAnswer],
        last: Verdict | None,
    ) -> Observation:
        """Checks the current files against the definition of done. Carries over the replies to the same doubts from the
        `last` verdict."""
        session = self._session
        trace = sorted({*session.traced(), *(place.file for place in places if place.file in self._workspace.files)})
        result = session.run([path for path in trace if path.endswith(".py")])
        verdict = judge(session, result, places, declared)
        if not verdict.faults:
            verdict = doubted(session, verdict, result, answers, last)
        if verdict.accepted:
            return Observation(f"accepted: the metric is {verdict.metric:g}", verdict)
        open_ = [doubt for doubt in verdict.doubts if not doubt.answer]
        if not open_:
            return Observation("not accepted: " + "\n- ".join(verdict.faults), verdict)
        lines = "\n".join(f"- `{doubt.about}`: {doubt.text}" + f"\n{doubt.more}" * bool(doubt.more) for doubt in open_)
        return Observation(f"not accepted yet, in doubt: {open_[0]}\n{_ANSWER}:\n{lines}", verdict)

    def _edited(self, given: ActionInput) -> str:
        changed = self._changes(given.edits or ())
        if not changed:
            return f"nothing was edited: {given.text}"
        reason = " ".join((given.text or f"Edit {', '.join(sorted(changed))}").split())[:200]
        version = self._workspace.edit(changed, reason)
        return f"edited {', '.join(sorted(changed))}: version {version.number}, {version.reason}"

    def _changes(self, edits: Sequence[FileEdit]) -> dict[str, str]:
        """Returns the files that edits change, with their new text. Raises `EditError` if the edits are rejected."""
        if not edits:
            return {}
        session, texts = self._session, self._workspace.texts()
        for edit in edits:
            if session.beside.holds(edit.file):
                raise EditError(f"{edit.file} is read-only: copy the parts that the program needs into the program")
            if edit.file in self._workspace.files and edit.file not in texts:
                raise EditError(f"{edit.file} is not UTF-8 text, or too large")
        changed = session.reader.applied(edits, texts)
        if not session.task.may_change_evaluation:
            before, task, after = self._workspace.texts(0), session.task, {**texts, **changed}
            if measures := session.reader.evaluation_changes(before, after, task.parsed_metric, task.protected):
                raise EditError(
                    f"this changes how the result is measured ({'; '.join(measures[:4])}), which is not allowed: leave "
                    "these parts exactly as they are"
                )
        return changed

    def _listed(self) -> str:
        beside = (
            f"{path}  {len(text.encode()):,} bytes  read-only" for path, text in self._session.beside.texts.items()
        )
        return "\n".join([f"{len(self._workspace.files)} files", *self._workspace.listing(), *beside])

    def _lines(self, given: ActionInput) -> str:
        path = _named(given.file)
        lines = self._session.text(path).splitlines()
        start = max(1, given.start_line or 1)
        end = min(len(lines), given.end_line or len(lines), start + _MOST_LINES - 1)
        if start > len(lines):
            return f"{path} has {len(lines)} lines: there is no line {start}"
        return f"{path}, lines {start}-{end} of {len(lines)}\n{numbered(lines[start - 1 : end], start)}"

    def _diff(self, given: ActionInput) -> str:
        text = self._workspace.diff(paths=given.files or ([given.file] if given.file else ()))
        return f"changes since the starter\n{cut_middle(text, _MOST_DIFF)}" if text else "no differences"

    def _copied(self, given: ActionInput) -> str:
        path, to = _named(given.file), _named(given.to)
        text = self._session.text(path)
        if to in self._workspace.files:
            return f"refused: {to} already exists"
        if self._session.beside.holds(to):
            return f"refused: {to} would be among the read-only files: give another path"
        file = self._workspace.files.get(path)
        version = self._workspace.edit({to: text if file is None else file.content}, f"Copy {path} to {to}")
        return f"copied {path} to {to}: version {version.number}"

    def _undone(self) -> str:
        return f"version {self._workspace.undo().number} restores the files from before the last edit"

    def _executed(self, given: ActionInput) -> str:
        session = self._session
        command = session.task.run
        if given.file:
            self._workspace.text(given.file)
            command = f"python {given.file}"
        command = f"{command} {given.arguments or ''}".strip()
        result = session.run(session.traced(), None if command == session.task.run.strip() else command)
        return described_run(session, result, command)


def described_run(session: Session, result: RunResult, command: str) -> str:
    """Describes a run for a prompt: how it ended, its metric, the end of its output, and the changed lines that ran."""
    room = session.settings.observation
    metric, problem = result.metric_or_problem(session.task.parsed_metric, session.reader)
    lines = [f"`{command}` " + (f"failed: {result.problem}" if result.problem else "ended with status 0")]
    lines.append(f"metric: {metric:g}" if metric is not None else f"metric: none ({problem})")
    lines.append("output:\n" + (cut_middle(result.output.strip(), room // 2) or "(nothing)"))
    if result.evaluated is not None:
        shown_output = cut_middle(result.evaluated.output.strip(), room // 2) or "(nothing)"
        lines.append(f"output of `{result.evaluated.command}`:\n{shown_output}")
    changed = session.workspace.changed_lines() if result.lines else {}
    counted_lines = {path: counts for path, counts in sorted((result.lines or {}).items()) if changed.get(path)}
    outlines = session.reader.outlines({path: session.workspace.text(path) for path in counted_lines})
    for path, counts in counted_lines.items():
        counted = with_counts(session.workspace.text(path), counts, outlines[path].executable, changed[path])
        lines.append(f"how often each changed line (+) of {path} ran:\n{cut_middle(counted, room // 3)}")
    return "\n".join(lines)


def _named(path: str | None) -> str:
    if not path:
        raise InputError("no file is specified")
    return path.removeprefix("./")
