"""The techniques of a paper as components: places from `locate`, prior weights from the graph."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from xkg.agents.ablation.candidates import Component, Place
from xkg.errors import InputError, QueryFailedError, QueryRefusedError
from xkg.serve.answers.types import LocatedPlace, PaperAnswer
from xkg.serve.service import Service
from xkg.store.indexes.text import words

_PLACES = 3
_DEEPEST_LOSS = 0.08
_MEASURED = 0.3
_CLAIMED, _CLAIMED_AGAIN = 0.15, 0.05
_ABOUT = 300


def paper_with_techniques(service: Service, paper: str) -> PaperAnswer:
    """Raises `UnknownIdError`, `InputError` for a paper without techniques, `StoreError`."""
    answer = service.paper(paper, full=True)
    if not answer.techniques:
        raise InputError(f"paper {answer.id} has no technique to ablate: build it first, or leave out --paper")
    return answer


def techniques_of(service: Service, paper: str, tree: Path) -> list[Component]:
    """The paper's techniques in the order of the hierarchy, with places in the files under `tree`. Those without a
    place are included, so that the report names them.

    Raises the errors of `paper_with_techniques`, and `InputError` for a folder without source."""
    answer = paper_with_techniques(service, paper)
    measured = _measured(service, answer.id)
    findings = [f"{finding.name}: {finding.description or ''}" for finding in answer.findings]
    components = []
    for order, line in enumerate(answer.techniques):
        located = service.locate(line.id, tree, _PLACES)
        places = [place for found in located.locations if _is_sure(found) for place in _lines(found)]
        known = service.technique(line.id, full=True)
        claims = claims_on((line.name, *known.aliases), findings)
        weight, reasons = _prior(line.depth, located.locations, measured.get(line.id), claims)
        components.append(
            Component(
                id=line.id, name=line.name, places=tuple(places), technique=line.id, weight=weight, order=order,
                reasons=tuple(reasons), about=" ".join(known.definition.split())[:_ABOUT],
            )
        )  # fmt: skip
    return components


def _measured(service: Service, paper: str) -> dict[str, float]:
    """By technique, the largest relative change in an ablation of it or of the same concept in another paper. Empty if
    the graph has no ablations or does not answer such queries."""
    found: dict[str, float] = {}
    for query in _MEASURED_BEFORE:
        with contextlib.suppress(QueryFailedError, QueryRefusedError):
            for technique, change in service.cypher(query, {"paper": f"{paper}#"}, 1000).rows:
                if abs(change) >= abs(found.get(technique, 0.0)):
                    found[str(technique)] = float(change)
    return found


_MEASURED_BEFORE = tuple(
    f"MATCH {pattern} WHERE t.id STARTS WITH $paper RETURN t.id AS technique, a.change AS change"
    for pattern in (
        "(t:Technique)-[:ABLATED_IN]->(a:Ablation)",
        "(t:Technique)-[:SAME_CONCEPT]->(o:Technique)-[:ABLATED_IN]->(a:Ablation)",
        "(t:Technique)<-[:SAME_CONCEPT]-(o:Technique)-[:ABLATED_IN]->(a:Ablation)",
    )
)


def _is_sure(found: LocatedPlace) -> bool:
    return found.confidence == "certain" and found.symbol != found.path


def _lines(found: LocatedPlace) -> list[Place]:
    """The focus of a place, or the whole place if it has none."""
    spans = [(at.start_line, at.end_line) for at in found.focus] or [(found.start_line, found.end_line)]
    return [Place(path=found.path, start_line=start, end_line=end, symbol=found.symbol) for start, end in spans]


def claims_on(names: Sequence[str], findings: Sequence[str]) -> list[str]:
    """The findings of the paper that name a technique: its authors chose to comment on it."""
    phrases = [f" {words(name)} " for name in names if words(name)]
    return [finding for finding in findings if any(phrase in f" {words(finding)} " for phrase in phrases)]


def _prior(
    depth: int, places: Sequence[LocatedPlace], measured: float | None, claims: Sequence[str]
) -> tuple[float, list[str]]:
    """0.5 for a technique about which nothing is known. More if it is near the top, well located, claimed to matter in
    the paper, or measured to matter."""
    best = max((place.score for place in places), default=0.0)
    weight = 0.5 - _DEEPEST_LOSS * min(depth, 4) + 0.2 * best
    reasons = [f"depth {depth} in the hierarchy", f"best place {best:.2f}"]
    if claims:
        weight += _CLAIMED + _CLAIMED_AGAIN * min(2, len(claims) - 1)
        reasons.append(f"claimed in the paper: {' '.join(claims[0].split())[:160]}")
    if measured is not None:
        weight += _MEASURED if abs(measured) >= 0.05 else -_MEASURED
        reasons.append(f"measured before: {measured:+.1%}")
    return min(1.0, max(0.0, weight)), reasons
