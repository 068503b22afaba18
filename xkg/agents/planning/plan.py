"""Defines ablation plans, as returned by the command `xkg ablate plan`, the library call and the MCP prompt."""

from collections.abc import Iterator
from typing import Literal

from xkg.serve.answers.quoting import one_line, visible
from xkg.serve.answers.types import LocatedPlace, Quoting
from xkg.value import Value

Action = Literal["REMOVE", "REPLACE", "ADD"]


_OPEN = "undecided: no table in the paper is known to measure this component"


class PlannedAblation(Value):
    """One experiment, which is compared with an unchanged run. `component` is the id of the changed technique, or empty
    if the technique is not in the graph. `ablated_part` describes the changed part. `replacement` lists the options to
    try instead (REPLACE) or in addition (ADD), and is empty for REMOVE. `metrics` lists measures, or tables in the
    paper that report them. `ideas` are techniques from other papers that match the definition. The inputs and outputs
    of these techniques may differ. `places` are the lines to change, best first. `note` explains why no lines are
    known, or adds a caveat."""

    name: str
    component: str
    ablated_part: str
    action: Action
    replacement: tuple[str, ...]
    metrics: tuple[str, ...]
    why: str
    ideas: tuple[str, ...] = ()
    places: tuple[LocatedPlace, ...] = ()
    note: str = ""


class AblationPlan(Quoting):
    """The ablations for a paper, most informative first. `planned_by` names the model, or says why only the graph was
    used. `searched` says where the lines were searched for. `note` describes the parts that were left out.

    A plan's string form is Markdown."""

    paper: str
    title: str
    planned_by: str
    ablations: tuple[PlannedAblation, ...]
    searched: str
    note: str = ""

    def __str__(self) -> str:
        return visible("\n".join(_markdown(self)))


def _markdown(plan: AblationPlan) -> Iterator[str]:
    yield f"# Ablations of {one_line(plan.title) or plan.paper}"
    yield ""
    yield f"Planned {plan.planned_by}. Lines: {plan.searched}."
    if plan.note:
        yield f"Note: {plan.note}."
    for number, ablation in enumerate(plan.ablations, start=1):
        yield ""
        yield f"## {number}. {one_line(ablation.name)}"
        yield ""
        yield f"- {ablation.action} {one_line(ablation.ablated_part)}"
        if ablation.replacement:
            yield f"- {'Instead' if ablation.action == 'REPLACE' else 'Added'}: " + "; or ".join(
                map(one_line, ablation.replacement)
            )
        if ablation.ideas:
            yield f"- Ideas, unchecked: {'; '.join(map(one_line, ablation.ideas))}"
        if ablation.component:
            yield f"- Component: {one_line(ablation.component)}"
        yield f"- Measure: {', '.join(map(one_line, ablation.metrics)) or _OPEN}"
        yield f"- Why: {one_line(ablation.why)}"
        seen: set[str] = set()  # a class and its method may have the same best lines
        for place in ablation.places:
            best = place.focus[0] if place.focus else place
            doubt = "" if place.confidence == "certain" else f", {place.confidence}"
            lines = f"{place.path}:{best.start_line}-{best.end_line}"
            if lines in seen:
                continue
            seen.add(lines)
            yield f"- Change: {one_line(lines)} ({one_line(place.symbol)}, score {place.score:g}{doubt})"
        if ablation.note:
            yield f"- Lines: {one_line(ablation.note)}"
    if not plan.ablations:
        yield ""
        yield "No component to ablate: this paper's graph contains no components below the whole method."
