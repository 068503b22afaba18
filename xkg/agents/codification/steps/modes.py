"""Asks for the next step of a run: the model chooses it (mode `agent`), or it is fixed (`prescribed`, `single`)."""

from collections.abc import Sequence

from xkg.agents.codification.prompting.answers import Action, Step
from xkg.agents.codification.prompting.memory import Taken, log, recent
from xkg.agents.codification.session import Session
from xkg.agents.codification.steps.actions import Actions


def next_step(session: Session, actions: Actions, history: Sequence[Taken]) -> Step | None:
    """The step that follows the earlier steps; None if there is none. Raises `AnswerError` if no model returned a
    step."""
    orders = _orders(session)
    if orders is not None and len(history) == len(orders):
        return None
    ordered, order = (None, "") if orders is None else orders[len(history)]
    last = history[-1].step if history else None
    inputs = {
        "task": session.described(),
        "files": session.shown(),
        "log": log(history, session.settings.memory),
        "recent": recent(history, session.settings.memory),
        "experts": str(session.questions.expert_calls_left),
        "order": order,
    }

    def check(step: Step) -> str | None:
        if ordered is not None and step.action != ordered:
            return f"the action of this step is {ordered}"
        if last is not None and (step.action, step.action_input) == (last.action, last.action_input):
            return "this is exactly the last action: its observation is above; choose another one"
        if step.action == "request_expert" and not session.questions.expert_calls_left:
            return "the expert cannot be asked any more: choose another action"
        return actions.objection(step)

    return session.questions.ask("plan", Step, inputs, about=f"step {len(history) + 1}", check=check)


def _orders(session: Session) -> list[tuple[Action, str]] | None:
    """The fixed steps in a mode: each step's action and what it should do. None if the model chooses."""
    if session.task.mode == "agent":
        return None
    if session.task.mode == "single":
        return [("final_answer", "Implement the whole method: a final_answer with all edits.")]
    return [
        ("edit", _SKELETON),
        *(("edit", _PART.format(part)) for part in session.parts),
        ("execute_script", "Run the task's command."),
        ("final_answer", _FINAL),
    ]


_SKELETON = (
    "Write a skeleton: for each part of the method, by its name, one function with a docstring that says what it takes "
    "and gives, where it belongs in this code; its body may hand its input through. The program has to run as before."
)
_PART = "Implement the part {!r} in its function, completely, and call it where the method does."
_FINAL = (
    "Compare each part of the method with the code: the right quantities, order, signs and scope, reached when the "
    "program runs. Give the final_answer, with the edits that this asks for."
)
