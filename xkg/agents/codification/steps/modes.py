"""Chooses the next step of a run: a planner (`agent`), a fixed path (`prescribed`), one answer for all (`single`)."""

from collections.abc import Sequence

from xkg.agents.codification.prompting.answers import (
    Action,
    ActionInput,
    Checked,
    FinalAnswer,
    PartPlace,
    Step,
    Whole,
)
from xkg.agents.codification.prompting.memory import Taken, log, recent
from xkg.agents.codification.session import Session
from xkg.agents.codification.steps.actions import Actions, lacking
from xkg.agents.workspace.edits import EditError
from xkg.errors import InputError


def next_step(session: Session, actions: Actions, history: Sequence[Taken]) -> Step | None:
    """The next step after the earlier ones, None if there is none. Raises `AnswerError` if no model gave one."""
    if session.task.mode == "agent":
        return _planned(session, history)
    if session.task.mode == "single":
        return None if history else _single(session, actions)
    path = _path(session, history)
    if len(history) < len(path):
        return path[len(history)]
    return _final(session.journal.once("places", Checked, actions.check)) if len(history) == len(path) else None


def _planned(session: Session, history: Sequence[Taken]) -> Step:
    last = history[-1].step if history else None
    inputs = {
        "task": session.described(),
        "log": log(history, session.settings.memory),
        "recent": recent(history, session.settings.memory),
        "experts": str(session.questions.expert_calls_left),
    }

    def check(step: Step) -> str | None:
        if last is not None and (step.action, step.action_input) == (last.action, last.action_input):
            return "this is exactly the last action: its observation is above; choose another one"
        if step.action == "request_expert" and not session.questions.expert_calls_left:
            return "the expert cannot be asked any more: choose another action"
        return lacking(step)

    return session.questions.ask("plan", Step, inputs, about=f"step {len(history) + 1}", check=check)


def _path(session: Session, history: Sequence[Taken]) -> list[Step]:
    """List and understand the inputs, write a skeleton, build the parts one by one, check, fix, run."""
    related = session.related()
    inside = session.related_in_starter() or ["main.py"]
    script = session.script() if session.script() in session.workspace.files else inside[0]
    others = tuple(path for path in related if path != script)
    checked = next((each.observation for each in history if each.step.action == "check_implementation"), "")
    changes = [_SKELETON, *map(_PART.format, session.parts), f"{_MEND}\n{checked}"]
    *built, mended = [_step("edit_script", file=script, files=others, text=text) for text in changes]
    return [
        _step("list_files"),
        *(_step("understand_file", file=name, text=_UNDERSTAND) for name in related[:8]),
        *built,
        _step("check_implementation"),
        mended,
        _step("execute_script"),
    ]


def _single(session: Session, actions: Actions) -> Step:
    """The final answer of one call, whose edits are made here."""
    inputs = {"task": session.described(), "files": session.shown(session.related())}
    whole = session.journal.once("whole", Whole, lambda: session.questions.ask("single", Whole, inputs, about="all"))
    reason = whole.reason
    try:
        actions.edit(whole.edits, whole.reason)
    except (EditError, InputError) as error:
        reason = f"{whole.reason} (its edits were refused: {error})"
    final = FinalAnswer(summary=reason, places=whole.places, changed_settings=whole.changed_settings, answers=())
    return _step("final_answer", final=final)


def _final(checked: Checked) -> Step:
    places = tuple(
        PartPlace(part=state.part, file=state.file, start_line=state.start_line, end_line=state.end_line)
        for state in checked.parts
        if state.file and state.start_line and state.end_line
    )
    final = FinalAnswer(summary="by the fixed path", places=places, changed_settings=(), answers=())
    return _step("final_answer", final=final)


def _step(action: Action, **given: object) -> Step:
    values = {**dict.fromkeys(ActionInput.model_fields), **given}
    return Step(plan_and_status="", thought="", action=action, action_input=ActionInput.model_validate(values))


_UNDERSTAND = "What does this file do, which functions does it have, and where would parts of the method have to go?"
_SKELETON = (
    "Write a skeleton: for each part of the method, by its name, one function with a docstring that says what it takes "
    "and gives, where it belongs in this code; its body may hand its input through. The program has to run as before."
)
_PART = "Implement the part {!r} in its function, completely, and call it where the method does."
_MEND = "Make the changes that this check of the implementation asks for:"
