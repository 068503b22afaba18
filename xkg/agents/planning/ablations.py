"""Plans ablations for a paper. A language model plans them using material from the graph. Without a model, the plan
comes from the graph alone."""

import time
from collections.abc import Sequence
from pathlib import Path

from xkg.agents.planning import with_model
from xkg.agents.planning.from_graph import groupings, propose
from xkg.agents.planning.material import Material, gather
from xkg.agents.planning.plan import AblationPlan, PlannedAblation
from xkg.errors import InputError, XkgError
from xkg.serve.answers.quoting import one_line
from xkg.serve.answers.types import short
from xkg.serve.service import Service

MOST = 20
CONTEXT_TOKENS = 6000
_PLACES = 3
_NO_PLACE = "not a component in the graph; find the lines with `locate`, using a description of the component"
_ALONE = "from the graph alone, without a language model"


def plan_ablations(
    service: Service,
    paper: str,
    k: int = 5,
    repository: Path | None = None,
    *,
    roots: Sequence[Path] | None = None,
    wait_seconds: float | None = None,
) -> AblationPlan:
    """Returns at most `k` ablations for a paper (id or title), with the lines to change. The lines come from the graph,
    or from a search of the folder `repository`. If `roots` is not None, `repository` must be inside one of these
    folders.

    Waits at most `wait_seconds` for the configured language model. If `wait_seconds` is None, the limit for one call
    applies. If no model is configured or it does not answer, the plan comes from the graph alone, and `planned_by` says
    so. Raises `UnknownIdError` if the paper is unknown, and `StoreError` if the graph is empty. Raises `InputError` if
    `k` is out of range or a folder cannot be read."""
    if not 1 <= k <= MOST:
        raise InputError(f"{k} ablations cannot be planned; ask for 1 to {MOST}")
    material = gather(service, paper)
    ablations, planned_by, alone = _ablations(service, material, k, wait_seconds)
    located, searched = [], ""
    for ablation in ablations:
        with_lines, where = _with_lines(service, ablation, repository, roots)
        located.append(with_lines)
        searched = searched or where
    notes = [f"{material.left_out} of the paper's components are not considered" if material.left_out else ""]
    notes.append(_grouped(material) if alone else "")
    return AblationPlan(
        paper=material.paper,
        title=material.title,
        planned_by=planned_by,
        ablations=tuple(located),
        searched=searched or (str(repository) if repository else "stored locations"),
        note="; ".join(filter(None, notes)),
    )


def context(service: Service, paper: str) -> str:
    """Returns the graph's planning view of a paper as text."""
    return str(service.context(paper, CONTEXT_TOKENS, "planning"))


def _ablations(
    service: Service, material: Material, k: int, wait_seconds: float | None
) -> tuple[Sequence[PlannedAblation], str, bool]:
    """Returns the ablations (without lines), a description of how they were planned, and whether only the graph was
    used."""
    if not material.components:
        return (), _ALONE, True
    questions = service.questions()
    try:
        question = questions.begin(
            with_model.PROMPT,
            with_model.Ablations,
            with_model.inputs(material, context(service, material.paper), k),
            short(material.title, 80),
            lambda answer: with_model.objection(answer, material, k),
        )
        seconds = questions.call_seconds if wait_seconds is None else wait_seconds
        answered = questions.wait(question, time.monotonic() + seconds)
    except XkgError as error:
        return propose(material, k), f"{_ALONE}: {error}", True
    return with_model.planned(answered.answer, material), f"by {answered.model} with the graph", False


def _grouped(material: Material) -> str:
    """Returns a note about components that are left out because they seem only to group other components. The note
    lists the topmost component of each group."""
    left = groupings(material.components)
    ids = {component.id for component in left}
    names = [one_line(c.name) for c in left if c.parent not in ids]
    return f"left out as mere headings that nothing in the graph depends on: {', '.join(names)}" if names else ""


def _with_lines(
    service: Service, ablation: PlannedAblation, repository: Path | None, roots: Sequence[Path] | None
) -> tuple[PlannedAblation, str]:
    if not ablation.component and repository is None:
        return ablation.model_copy(update={"note": _NO_PLACE}), ""
    answer = service.locate(ablation.component or ablation.ablated_part, repository, _PLACES, roots=roots)
    return ablation.model_copy(update={"places": answer.locations, "note": answer.note}), answer.searched
