"""Turns a paper's techniques into components. Ranks the components in the same way as ablation plans, and finds their
places with `locate`."""

from pathlib import Path

from xkg.agents.ablation.candidates import Component, Place
from xkg.agents.planning.from_graph import ranking, reasons
from xkg.agents.planning.material import gather
from xkg.errors import InputError
from xkg.serve.answers.types import LocatedPlace, PaperAnswer
from xkg.serve.service import Service

_PLACES = 3
_FIRST, _LAST = 1.0, 0.5
_ABOUT = 300


def paper_with_techniques(service: Service, paper: str) -> PaperAnswer:
    """Looks up a paper in the graph, and requires that the paper has techniques. Raises `InputError` if the paper has
    no techniques, `UnknownIdError` if the paper is not in the graph, and `StoreError` if the graph cannot be read."""
    answer = service.paper(paper, full=True)
    if not answer.techniques:
        raise InputError(f"paper {answer.id} has no technique to ablate; build the paper first, or omit --paper")
    return answer


def techniques_of(service: Service, paper: str, tree: Path) -> list[Component]:
    """Returns a paper's techniques, most promising first, with places in the files under `tree`. Includes techniques
    without a place, because the report lists them. Raises the same errors as `paper_with_techniques`. Raises
    `InputError` if the folder contains no source files."""
    ranked = ranking(gather(service, paper_with_techniques(service, paper).id))
    components = []
    for order, technique in enumerate(ranked):
        located = service.locate(technique.id, tree, _PLACES)
        places = [place for found in located.locations if _is_sure(found) for place in _lines(found)]
        components.append(
            Component(
                id=technique.id, name=technique.name, places=tuple(places), technique=technique.id,
                weight=_FIRST - (_FIRST - _LAST) * order / len(ranked), order=order,
                reasons=tuple(reasons(technique)), about=" ".join(technique.definition.split())[:_ABOUT],
            )
        )  # fmt: skip
    return components


def _is_sure(found: LocatedPlace) -> bool:
    return found.confidence == "certain" and found.symbol != found.path


def _lines(found: LocatedPlace) -> list[Place]:
    spans = [(at.start_line, at.end_line) for at in found.focus] or [(found.start_line, found.end_line)]
    return [Place(path=found.path, start_line=start, end_line=end, symbol=found.symbol) for start, end in spans]
