"""The planner's memory: the last steps in full, and a log with one line for each earlier step.

A log line contains the recorded action, the first line of the observation, and the planner's summary. The summary is a
field in the planner's next answer, so it needs no separate call."""

import json
from collections.abc import Sequence
from itertools import pairwise

from xkg.agents.codification.prompting.answers import ActionInput, Step
from xkg.agents.workspace.command import cut_middle
from xkg.text.unicode import printable_line
from xkg.value import Value

_LONGEST_FIELD = 1500
_LONGEST_LINE = 240
_LONGEST_SUMMARY = 400
_LONGEST_LOG = 12_000


class Taken(Value):
    """A step with its observation. `version` is the version of the workspace after the step, `expert_calls` counts the
    calls in this step, and `accepted` is set if the step was an accepted final answer."""

    number: int
    step: Step
    observation: str
    version: int
    expert_calls: int = 0
    accepted: bool = False


def recent(taken: Sequence[Taken], count: int) -> str:
    """The last steps in full."""
    blocks = []
    for each in taken[-count:]:
        step = each.step
        thoughts = (
            ("Plan and status", step.plan_and_status),
            ("Thought", step.thought),
        )
        lines = [f"{name}: {cut_middle(text, _LONGEST_FIELD)}" for name, text in thoughts if text.strip()]
        lines += [f"Action: {step.action} {shown(step.action_input)}", f"Observation: {each.observation}"]
        blocks.append(f"Step {each.number}\n" + "\n".join(lines))
    return "\n\n".join(blocks) or "This is the first step."


def log(taken: Sequence[Taken], count: int) -> str:
    """One line for each step before the last `count`."""
    lines = []
    for each, after in list(pairwise(taken))[: max(0, len(taken) - count)]:
        outcome = (each.observation.strip().splitlines() or ["nothing"])[0][:_LONGEST_LINE]
        summary = summary_of(after.step)
        lines.append(
            f"{each.number}. {each.step.action} {shown(each.step.action_input)[:_LONGEST_LINE]} -> {outcome}"
            + (f" | your summary: {summary}" if summary else "")
        )
    return cut_middle("\n".join(lines), _LONGEST_LOG) or "nothing before"


def summary_of(step: Step) -> str:
    """The answer's summary of the previous step, on one line of at most 400 characters."""
    words = printable_line(step.last_step_summary)
    return words if len(words) <= _LONGEST_SUMMARY else f"{words[: _LONGEST_SUMMARY - 1]}…"


def shown(given: ActionInput) -> str:
    """The fields that are set in an action's input."""
    fields = given.model_dump(mode="json", exclude_none=True)
    return cut_middle(json.dumps(fields, ensure_ascii=False), _LONGEST_FIELD) if fields else ""
