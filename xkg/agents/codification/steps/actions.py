"""Executes an agent's actions. Failures become observations; exceptions are raised only if no model can be asked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xkg.agents.codification.doubts.find import doubted
from xkg.agents.codification.prompting.answers import (
    ActionInput,
    ChangedSetting,
    Checked,
    DoubtAnswer,
    Edits,
    PartPlace,
    Reply,
    Step,
)
from xkg.agents.codification.prompting.memory import Taken, log, recent, shown
from xkg.agents.codification.session import Session
from xkg.agents.codification.verdict import Verdict, judge, texts_of
from xkg.agents.workspace.command import RunResult, cut_middle, with_counts
from xkg.agents.workspace.edits import EditError, FileEdit
from xkg.errors import AnswerError, InputError

_MOST_LINES = 400
_MOST_LISTED = 300
_MOST_DIFF = 20_000

_ANSWER = (
    "change the code, or give the final answer again with `answers`: for each doubt, by its name in backquotes, a "
    "sentence that says why the code does what the method says all the same"
)

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "understand_file": ("file", "text"),
    "understand_with_context": ("file", "files", "text"),
    "inspect_lines": ("file",),
    "search_techniques": ("text",),
    "get_code": ("text",),
    "locate": ("text",),
    "graph_context": ("text",),
    "copy_file": ("file", "to"),
    "edit_script": ("file", "text"),
    "edit_with_context": ("file", "files", "text"),
    "request_expert": ("text",),
    "final_answer": ("final",),
}


@dataclass(frozen=True)
class Observation:
    """`text` begins with a line that says how the action ended; `verdict` is set for a final answer."""

    text: str
    verdict: Verdict | None = None


def lacking(step: Step) -> str | None:
    """An input that a step's action needs but lacks, described for the model."""
    missing = [name for name in _NEEDED.get(step.action, ()) if not getattr(step.action_input, name)]
    return f"{step.action} needs {' and '.join(missing)} in action_input" if missing else None


class Actions:
    """The actions available in one run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._workspace = session.workspace
        self._do: dict[str, Callable[[ActionInput, Sequence[Taken]], str]] = {
            "list_files": lambda _, __: self._listed(),
            "inspect_lines": lambda given, _: self._lines(given),
            "understand_file": lambda given, _: self._understood(given, [_named(given.file)]),
            "understand_with_context": lambda given, _: self._understood(
                given, [_named(given.file), *(given.files or ())]
            ),
            "code_diff": lambda given, _: self._diff(given),
            "search_techniques": lambda given, _: session.library.search(given.text or ""),
            "get_code": lambda given, _: session.library.code(given.text or ""),
            "graph_context": lambda given, _: session.library.context(given.text or ""),
            "locate": lambda given, _: session.library.locate(given.text or "", self._workspace.tree),
            "copy_file": lambda given, _: self._copied(given),
            "undo_edit": lambda _, __: self._undone(),
            "execute_script": lambda given, _: self._executed(given),
            "edit_script": lambda given, _: self._edited(given, ()),
            "edit_with_context": lambda given, _: self._edited(given, given.files or ()),
            "reflection": lambda given, history: self._asked("reflect", given, history),
            "request_expert": lambda given, history: self._asked("expert", given, history),
            "check_implementation": lambda _, __: _told(self.check()),
        }

    def do(self, step: Step, history: Sequence[Taken]) -> Observation:
        """Performs a step's action and returns the observation. Raises the errors of `LanguageModel` if no model can be
        asked."""
        given = step.action_input
        try:
            if step.action == "final_answer":
                assert given.final is not None
                return self.finish(given.final.places, given.final.changed_settings, given.final.answers)
            text = self._do[step.action](given, history)
        except AnswerError as error:
            text = f"no usable answer of the colleague: {error}"
        except (InputError, EditError) as error:
            text = f"refused: {error}"
        return Observation(self._short(step, text))

    def finish(
        self, places: Sequence[PartPlace], declared: Sequence[ChangedSetting], answers: Sequence[DoubtAnswer]
    ) -> Observation:
        """Checks the current files against the definition of done."""
        session = self._session
        trace = sorted({*session.traced(), *(place.file for place in places if place.file in self._workspace.files)})
        result = session.measure([path for path in trace if path.endswith(".py")])
        verdict = judge(
            session.task,
            session.method,
            session.parts,
            self._workspace,
            result,
            places,
            declared,
            session.reader,
            session.origin(),
            session.starter_removes,
        )
        if not verdict.faults:
            verdict = doubted(session, verdict, result, answers)
        if verdict.accepted:
            return Observation(f"accepted: the metric is {verdict.metric:g}", verdict)
        more = [f"{doubt.about}:\n{doubt.more}" for doubt in verdict.doubts if doubt.more and not doubt.answer]
        if verdict.faults:
            return Observation("not accepted:\n" + "\n".join([*(f"- {f}" for f in verdict.faults), *more]), verdict)
        open_ = [doubt for doubt in verdict.doubts if not doubt.answer]
        lines = "\n".join(f"- `{doubt.about}`: {doubt.text}" for doubt in open_)
        return Observation(f"not accepted yet, in doubt: {open_[0]}\n{_ANSWER}:\n{lines}", verdict)

    def check(self) -> Checked:
        """Has a model compare each of the method's parts with the code."""
        session = self._session
        paths = [*session.traced(), *session.related()]
        inputs = {
            "task": session.described(),
            "parts": "\n".join(session.parts),
            "files": session.shown(paths, numbered=True),
        }

        def check(answer: Checked) -> str | None:
            missing = [part for part in session.parts if part not in {state.part for state in answer.parts}]
            return f"the part {missing[0]!a} is missing; give every part by its exact name" if missing else None

        return session.questions.ask("check", Checked, inputs, about="check", check=check)

    def edit(self, edits: Sequence[FileEdit], reason: str, editable: Sequence[str] | None = None) -> str:
        """Applies edits and commits them. Raises `EditError` if they are refused."""
        changed = self._refused_or_changed(edits, editable)
        version = self._workspace.edit(changed, " ".join(reason.split())[:200] or "edit")
        names = ", ".join(sorted(changed))
        diff = cut_middle(self._workspace.diff(version.number - 1), self._session.settings.observation // 2)
        return f"edited {names}: version {version.number}, {version.reason}\n{diff}"

    def _refused_or_changed(self, edits: Sequence[FileEdit], editable: Sequence[str] | None) -> dict[str, str]:
        texts = texts_of(self._workspace)
        for edit in edits:
            if self._session.beside.holds(edit.file):
                raise EditError(f"{edit.file} is read-only: write what the program needs of it into the program")
            if editable is not None and edit.file in self._workspace.files and edit.file not in editable:
                raise EditError(f"only {', '.join(editable)} and new files may be edited, not {edit.file}")
            if edit.file in self._workspace.files and edit.file not in texts:
                raise EditError(f"{edit.file} is a binary file")
        session = self._session
        changed = session.reader.applied(edits, texts)
        if not session.task.may_change_evaluation:
            before, task = texts_of(self._workspace, 0), session.task
            measures = session.reader.evaluation_changes(
                before, {**texts, **changed}, task.parsed_metric, task.protected
            )
            if measures:
                raise EditError(
                    f"this changes how the result is measured ({'; '.join(measures[:4])}), which is not allowed: leave "
                    "these parts exactly as they are"
                )
        return changed

    def _edited(self, given: ActionInput, files: Sequence[str]) -> str:
        session = self._session
        target = _named(given.file)
        known = [path for path in files if path in self._workspace.files]
        if session.beside.holds(target):
            return f"refused: {target} is read-only: write what the program needs of it into the program"
        others = [name for name in files if name not in self._workspace.files and name not in session.beside.texts]
        reading = [name for name in files if name in session.beside.texts]
        blocks = [f"## {name} (from the library)\n{session.library.code(name)}" for name in others]
        context = "\n\n".join([*blocks, *([session.shown(reading)] if reading else [])])
        editable = [target, *known]
        inputs = {
            "task": session.described(),
            "files": session.shown(editable),
            "context": context,
            "request": given.text or "",
        }

        def check(answer: Edits) -> str | None:
            if not answer.edits and answer.reason.strip():
                return None
            try:
                self._refused_or_changed(answer.edits, editable)
            except (EditError, InputError) as error:
                return str(error)
            return None

        answer = session.questions.ask("edit", Edits, inputs, about=target, check=check)
        if not answer.edits:
            return f"nothing was edited: {' '.join(answer.reason.split())}"
        return self.edit(answer.edits, answer.reason, editable)

    def _understood(self, given: ActionInput, paths: Sequence[str]) -> str:
        for path in paths:
            self._session.text(path)  # refused if the file is missing
        session = self._session
        files = session.shown(paths, numbered=True)
        inputs = {"task": session.described(), "files": files, "question": given.text or ""}
        return session.questions.ask("understand", Reply, inputs, about=paths[0]).text

    def _asked(self, name: str, given: ActionInput, history: Sequence[Taken]) -> str:
        session = self._session
        count = session.settings.memory
        inputs = {
            "task": session.described(),
            "log": log(history, count),
            "recent": recent(history, count),
            "diff": cut_middle(self._workspace.diff(), _MOST_DIFF) or "nothing",
            "question": given.text or "Where do we stand, and what is the best next step?",
        }
        return session.questions.ask(name, Reply, inputs, about=name).text

    def _listed(self) -> str:
        files = self._workspace.files
        changed = set(self._workspace.changed())
        rows = [
            f"{path}  {len(file.content):,} bytes{'  changed' if path in changed else ''}"
            for path, file in sorted(files.items())
        ]
        beside = [
            f"{path}  {len(text.encode()):,} bytes  read-only" for path, text in self._session.beside.texts.items()
        ]
        more = [f"… and {len(rows) - _MOST_LISTED} more"] if len(rows) > _MOST_LISTED else []
        return "\n".join([f"{len(rows)} files", *rows[:_MOST_LISTED], *more, *beside])

    def _lines(self, given: ActionInput) -> str:
        path = _named(given.file)
        lines = self._session.text(path).splitlines()
        start = max(1, given.start_line or 1)
        end = min(len(lines), given.end_line or len(lines), start + _MOST_LINES - 1)
        if start > len(lines):
            return f"{path} has {len(lines)} lines: there is no line {start}"
        body = "\n".join(f"{number:>5}  {lines[number - 1]}" for number in range(start, end + 1))
        return f"{path}, lines {start}-{end} of {len(lines)}\n{body}"

    def _diff(self, given: ActionInput) -> str:
        since = given.version or 0
        text = self._workspace.diff(since, paths=given.files or ([given.file] if given.file else ()))
        return f"changes since version {since}\n{cut_middle(text, _MOST_DIFF)}" if text else "no differences"

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
        version = self._workspace.undo()
        return f"undone: version {version.number} has the files of version {version.restores} again"

    def _executed(self, given: ActionInput) -> str:
        session = self._session
        command = session.task.run
        if given.file:
            self._workspace.text(given.file)
            command = f"python {given.file} {given.arguments or ''}".strip()
        elif given.arguments:
            command = f"{command} {given.arguments}"
        if command == session.task.run:
            result = session.measure(session.traced())
        else:
            result = session.execute(command, session.traced())
        return described_run(session, result, command)

    def _short(self, step: Step, text: str) -> str:
        """The observation, summarised if it is long."""
        session = self._session
        most = session.settings.observation
        if len(text) <= most or step.action in ("inspect_lines", "list_files", "code_diff", "execute_script"):
            return cut_middle(text, most)
        inputs = {"action": f"{step.action} {shown(step.action_input)}", "observation": cut_middle(text, 4 * most)}
        try:
            return session.questions.ask("summarise", Reply, inputs, about=step.action).text
        except AnswerError:
            return cut_middle(text, most)


def described_run(session: Session, result: RunResult, command: str) -> str:
    """Describes a run for a prompt: how it ended, the metric, the end of its output, and the changed lines that ran."""
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


def _told(checked: Checked) -> str:
    rows = [
        f"- {state.part}: "
        + (f"{state.file}:{state.start_line}-{state.end_line}" if state.file else "not done")
        + (f"; {state.problem}" if state.problem else "")
        for state in checked.parts
    ]
    bad = sum(bool(state.problem) or state.file is None for state in checked.parts)
    return "\n".join([f"{len(rows) - bad} of {len(rows)} parts are done", *rows])


def _named(path: str | None) -> str:
    if not path:
        raise InputError("no file is named")
    return path.removeprefix("./")
