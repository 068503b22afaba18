"""Stores the planner's memory. Prompts contain the last steps in full. Earlier steps are reduced to a log line with the
action and the first line of the observation."""

import json
from collections.abc import Sequence

from xkg.agents.codification.prompting.answers import ActionInput, Step
from xkg.agents.workspace.command import cut_middle
from xkg.value import Value

_LONGEST_FIELD = 1500
_LONGEST_LINE = 240
_LONGEST_LOG = 12_000


class Taken(Value):
    """A step with its observation. `version` is the number of the workspace version after the step. `expert_calls`
    counts the calls to the expert in the step. `accepted` is set if the step is an accepted final answer."""

    number: int
    step: Step
    observation: str
    version: int
    expert_calls: int = 0
    accepted: bool = False


def recent(taken: Sequence[Taken], count: int) -> str:
    """Returns the last `count` steps in full."""
    blocks = []
    for each in taken[-count:]:
        step = each.step
        lines = [f"{name}: {cut_middle(text, _LONGEST_FIELD)}" for name, text in thoughts(step)]
        lines += [f"Action: {step.action} {shown(step.action_input)}", f"Observation: {each.observation}"]
        blocks.append(f"Step {each.number}\n" + "\n".join(lines))
    return "\n\n".join(blocks) or "This is the first step."


def log(taken: Sequence[Taken], count: int) -> str:
    """Returns one line for each step before the last `count` steps."""
    lines = []
    for each in taken[:-count]:
        outcome = (each.observation.strip().splitlines() or ["nothing"])[0][:_LONGEST_LINE]
        lines.append(f"{each.number}. {each.step.action} {shown(each.step.action_input)[:_LONGEST_LINE]} -> {outcome}")
    return cut_middle("\n".join(lines), _LONGEST_LOG) or "nothing before"


def thoughts(step: Step) -> list[tuple[str, str]]:
    texts = (("Plan and status", step.plan_and_status), ("Thought", step.thought))
    return [(title, text) for title, text in texts if text.strip()]


def shown(given: ActionInput) -> str:
    """Returns the fields that are set in an action's input, as JSON. Shows only the locations of edits, because prompts
    already contain the files."""
    fields = given.model_dump(mode="json", exclude_none=True)
    if given.edits:
        fields["edits"] = [f"{e.kind} {e.file} {e.target.strip().partition(chr(10))[0]}" for e in given.edits]
    return cut_middle(json.dumps(fields, ensure_ascii=False), _LONGEST_FIELD) if fields else ""
