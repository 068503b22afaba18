"""Chooses the next step in a run: a planner (`agent`), a fixed path (`prescribed`), or a single answer for everything
(`single`)."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Protocol

from xkg.agents.codification.prompting.answers import (
    CODING,
    GRAPH,
    UNDERSTANDING,
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

IN_A_ROW = 15
"""The maximum number of consecutive actions from one pool."""
_POOLS: Mapping[str, frozenset[str]] = {"understanding": UNDERSTANDING, "code": CODING}
_EMPTY = ActionInput(
    file=None,
    to=None,
    files=None,
    start_line=None,
    end_line=None,
    arguments=None,
    text=None,
    version=None,
    final=None,
)


class Chooser(Protocol):
    def next(self, history: Sequence[Taken]) -> Step | None:
        """The step to take after the earlier ones; None if there is none. Raises `AnswerError` if no model gave a
        usable one."""
        ...


class Planner:
    """Asks a model for each step."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def next(self, history: Sequence[Taken]) -> Step | None:
        session, settings = self._session, self._session.settings
        closed = exhausted([each.step.action for each in history])
        last = history[-1].step if history else None
        inputs = {
            "task": session.described(),
            "log": log(history, settings.memory),
            "recent": recent(history, settings.memory),
            "pool": self._allowed(closed),
            "experts": str(session.questions.expert_calls_left),
        }

        def check(step: Step) -> str | None:
            if closed is not None and step.action in _POOLS[closed]:
                return f"{step.action} is of the pool {closed!a}, which is used up for now: choose another action"
            if step.action in GRAPH and not session.task.graph:
                return "there is no library in this run: choose another action"
            if last is not None and (step.action, step.action_input) == (last.action, last.action_input):
                return "this is exactly the last action: its observation is above; choose another one"
            if step.action == "request_expert" and not session.questions.expert_calls_left:
                return "the expert cannot be asked any more: choose another action"
            return lacking(step)

        return session.questions.ask("plan", Step, inputs, about=f"step {len(history) + 1}", check=check)

    def _allowed(self, closed: str | None) -> str:
        library = (
            "" if self._session.task.graph else f"; there is no library in this run: no {', '.join(sorted(GRAPH))}"
        )
        if closed is None:
            return f"every action; at most {IN_A_ROW} of one pool in a row{library}"
        return f"no action of the pool {closed!a}, of which {IN_A_ROW} were taken in a row; every other one{library}"


def exhausted(taken: Sequence[str]) -> str | None:
    """The pool that is used up after the actions `taken`, which prevents loops. Actions from no pool do not count, and
    do not interrupt a sequence."""
    pools = [name for action in reversed(taken) for name, actions in _POOLS.items() if action in actions]
    row = list(takewhile(lambda name: name == pools[0], pools))
    return row[0] if len(row) >= IN_A_ROW else None


class Prescribed:
    """A fixed path: list and understand the inputs, write a skeleton, build the parts one by one, check, fix, run,
    answer."""

    def __init__(self, session: Session, actions: Actions) -> None:
        self._session = session
        self._actions = actions

    def next(self, history: Sequence[Taken]) -> Step | None:
        session = self._session
        related = session.related()
        inside = session.related_in_starter() or ["main.py"]
        script = session.script() if session.script() in session.workspace.files else inside[0]
        others = tuple(path for path in related if path != script)
        path = [
            _step("list_files"),
            *(_step("understand_file", file=name, text=_UNDERSTAND) for name in related[:8]),
            _step("edit_with_context", file=script, files=others, text=_SKELETON),
            *(_step("edit_with_context", file=script, files=others, text=_PART.format(part)) for part in session.parts),
            _step("check_implementation"),
            *([] if _found_done(history) else [_step("edit_with_context", file=script, files=others, text=_MEND)]),
            _step("execute_script"),
        ]
        if len(history) < len(path):
            step = path[len(history)]
            if step.action_input.text == _MEND:
                step = _with_text(step, f"{_MEND}\n{history[-1].observation}")
            return step
        if len(history) > len(path):
            return None
        checked = session.journal.once("places", Checked, self._actions.check)
        return _final(checked)


class Single:
    """One answer for everything. Its edits are made before the first step is chosen."""

    def __init__(self, session: Session, actions: Actions) -> None:
        self._session = session
        self._actions = actions

    def next(self, history: Sequence[Taken]) -> Step | None:
        if history:
            return None
        session = self._session
        inputs = {"task": session.described(), "files": session.shown(session.related())}
        whole = session.journal.once(
            "whole", Whole, lambda: session.questions.ask("single", Whole, inputs, about="all")
        )
        reason = whole.reason
        try:
            self._actions.edit(whole.edits, whole.reason)
        except (EditError, InputError) as error:
            reason = f"{whole.reason} (its edits were refused: {error})"
        final = FinalAnswer(summary=reason, places=whole.places, changed_settings=whole.changed_settings, answers=())
        return _step("final_answer", final=final)


def _found_done(history: Sequence[Taken]) -> bool:
    """Whether the check on the fixed path found all parts implemented."""
    checks = [each.observation for each in history if each.step.action == "check_implementation"]
    done, _, of = (checks[0].split(" parts", 1)[0] if checks else "0 of 1").partition(" of ")
    return done == of


def _final(checked: Checked) -> Step:
    places = tuple(
        PartPlace(part=state.part, file=state.file, start_line=state.start_line, end_line=state.end_line)
        for state in checked.parts
        if state.file and state.start_line and state.end_line
    )
    return _step(
        "final_answer", final=FinalAnswer(summary="by the fixed path", places=places, changed_settings=(), answers=())
    )


def _step(action: Action, **given: object) -> Step:
    return Step(
        last_step_summary="",
        plan_and_status="",
        thought="",
        action=action,
        action_input=_EMPTY.model_copy(update=given),
    )


def _with_text(step: Step, text: str) -> Step:
    return step.model_copy(update={"action_input": step.action_input.model_copy(update={"text": text})})


_UNDERSTAND = "What does this file do, which functions does it have, and where would parts of the method have to go?"
_SKELETON = (
    "Write a skeleton: for each part of the method, by its name, one function with a docstring that says what it takes "
    "and gives, where it belongs in this code; its body may hand its input through. The program has to run as before."
)
_PART = "Implement the part {!r} in its function, completely, and call it where the method does."
_MEND = "Make the changes that this check of the implementation asks for:"
