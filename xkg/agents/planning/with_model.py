"""Asks a language model for ablations, using material from the graph."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from xkg.agents.planning.material import Component, Material
from xkg.agents.planning.plan import PlannedAblation
from xkg.llm.client import AnswerType
from xkg.llm.prompt import load_prompt
from xkg.text.unicode import one_line

PROMPT = load_prompt(Path(__file__).parent / "prompts" / "ablations.md")
_DEFINITION = 200
"""The maximum number of characters per definition in the list. The prompt also contains longer definitions, before the
list."""

_LONGEST = 600
_MOST_OPTIONS = 12


class ProposedAblation(AnswerType):
    """`component` is a number from the list in the prompt, or 0 for none."""

    component: int
    name: str
    ablated_part: str
    action: Literal["REMOVE", "REPLACE", "ADD"]
    replacement: tuple[str, ...]
    metrics: tuple[str, ...]
    why: str


class Ablations(AnswerType):
    ablations: tuple[ProposedAblation, ...]


def inputs(material: Material, context: str, k: int) -> dict[str, str]:
    """Returns the inputs for `PROMPT`. `context` describes the paper with the graph's planning view and possibly the
    paper's text."""
    return {"paper": context, "components": describe(material.components), "most": str(k)}


def describe(components: Sequence[Component]) -> str:
    """Returns a numbered list of the facts about each component in the graph. Numbers start at 1."""
    return "\n".join(_described(n, component) for n, component in enumerate(components, start=1)) or "(none)"


def _described(number: int, component: Component) -> str:
    facts = [
        f"part of {component.parent_name}" if component.parent_name else "",
        f"code: {component.level}" if component.level != "none" else "",
        f"used by the code of {', '.join(component.users)}" if component.users else "",
        "its lines in the repository are known" if component.place else "",
        *(f"other papers: {a.name} ({a.paper_title})" for a in component.alternatives),
    ]
    known = "; ".join(filter(None, facts))
    definition = component.definition[:_DEFINITION]
    return f"{number}. {component.name}" + (f" [{known}]" if known else "") + (f": {definition}" if definition else "")


def objection(answer: Ablations, material: Material, k: int) -> str | None:
    """Returns a message that tells the model why its answer is invalid, or None if the answer is valid."""
    given = answer.ablations
    if not 1 <= len(given) <= k:
        return f"give 1 to {k} ablations"
    if len({one_line(each.name).casefold() for each in given}) < len(given):
        return "no two ablations may have the same name"
    for each in given:
        options = [one_line(option) for option in each.replacement if one_line(option)]
        if not 0 <= each.component <= len(material.components):
            return f"{each.component} is not a number in the list of components; 0 means none of them"
        if not one_line(each.name) or not one_line(each.ablated_part):
            return "each ablation needs a name and an ablated_part"
        if each.action != "REMOVE" and not options:
            return f"{each.action} needs at least one replacement: {one_line(each.name)}"
        if len(options) > _MOST_OPTIONS or any(
            len(text) > _LONGEST for text in (each.name, each.ablated_part, *options)
        ):
            return f"at most {_MOST_OPTIONS} replacements, and at most {_LONGEST} characters per text"
    return None


def planned(answer: Ablations, material: Material) -> tuple[PlannedAblation, ...]:
    """Converts a valid answer to ablations without the lines to change."""
    return tuple(
        PlannedAblation(
            name=one_line(each.name),
            component=material.components[each.component - 1].id if each.component else "",
            ablated_part=one_line(each.ablated_part),
            action=each.action,
            replacement=() if each.action == "REMOVE" else tuple(filter(None, map(one_line, each.replacement))),
            metrics=tuple(filter(None, map(one_line, each.metrics))),
            why=one_line(each.why),
        )
        for each in answer.ablations
    )
