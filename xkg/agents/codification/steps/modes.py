"""Determines a run's next step. In the mode `agent`, the model chooses the step. In the modes `prescribed` and
`single`, the steps are fixed."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from xkg.agents.codification.prompting.answers import PROMPTS, Action, ActionInput, Step
from xkg.agents.codification.prompting.memory import Taken, log, recent
from xkg.agents.codification.session import Session
from xkg.agents.codification.steps.actions import Actions
from xkg.llm.prompt import load_prompt

_Block = Literal["skeleton", "part", "whole", "compared"]
_RUN = Step(
    plan_and_status="",
    thought="",
    action="execute_script",
    action_input=ActionInput.model_validate(dict.fromkeys(ActionInput.model_fields)),
)


class _Order(NamedTuple):
    """A fixed action, the prompt block that explains it, and the parts of the method to which it applies."""

    action: Action
    block: _Block
    parts: Sequence[str]


def next_step(session: Session, actions: Actions, history: Sequence[Taken]) -> Step | None:
    """Returns the next step, or None if no step is left. Raises `AnswerError` if no model returned a step."""
    orders = _orders(session)
    if orders is not None and len(history) == len(orders):
        return None
    order = None if orders is None else orders[len(history)]
    if isinstance(order, Step):
        return order
    last = history[-1].step if history else None
    inputs = {
        "task": session.described(),
        "files": session.shown(),
        "log": log(history, session.settings.memory),
        "recent": recent(history, session.settings.memory),
        **dict.fromkeys(get_args(_Block), ""),
        **({} if order is None else {order.block: "\n".join(order.parts)}),
    }

    def check(step: Step) -> str | None:
        if order is not None:
            wrong = step.action != order.action
            return f"the action of this step must be {order.action}" if wrong else actions.objection(step)
        again = last is not None and (step.action, step.action_input) == (last.action, last.action_input)
        if again and step.action != "undo_edit":
            return "this repeats the last action, whose observation is above; choose another action"
        return actions.objection(step)

    prompt, about = load_prompt(PROMPTS / "plan.md"), f"step {len(history) + 1}"
    return session.questions.ask(prompt, Step, inputs, about=about, check=check)


def _orders(session: Session) -> list[Step | _Order] | None:
    if session.task.mode == "agent":
        return None
    if session.task.mode == "single":
        return [_Order("final_answer", "whole", session.parts)]
    return [
        _Order("edit", "skeleton", session.parts),
        *(_Order("edit", "part", [part]) for part in session.parts),
        _RUN,
        _Order("final_answer", "compared", session.parts),
    ]
