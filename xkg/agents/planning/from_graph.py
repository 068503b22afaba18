"""Proposes ablations from the graph alone, without a language model.

Ranks components by several criteria, and combines the rankings with rank fusion. The criteria are the effect measured
in earlier ablations, mentions in the abstract, and how many findings and components depend on the component. Further
criteria are the score of its best lines in the code, and its position in the hierarchy. Single components rank above
groups. Omits components that only group other components (see `groupings`)."""

import re
from collections.abc import Callable, Sequence

from xkg.agents.planning.material import Component, Material
from xkg.agents.planning.plan import Action, PlannedAblation

PLAINEST = "its simplest form with the same inputs and outputs (a constant, the identity, or uniform weights)"
_WORD = re.compile(r"[^\W_]++")
_FUSED_FROM = 5
_MOST_METRICS = 3
_MOST_OF_A_NAME = 0.5
_FITTING = 0.9
"""The minimum score for an idea. Techniques below this score may be similar, but often cannot replace the component."""

_JUDGE = r"(?:judge|assess|evaluate|monitor|diagnose|gauge|score|track|check|test|quantify|measure)"
_JUDGING = r"(?:judging|assessing|evaluating|monitoring|diagnosing|gauging|measuring|testing)"
_MEASURES = re.compile(
    rf"^(?:in order )?to {_JUDGE}\b"
    rf"|\b(?:we|is|are) (?:then |only )?(?:used|computed|reported) (?:only )?(?:to {_JUDGE}|for {_JUDGING})\b"
    r"|\b(?:is|as|gives|are) an? (?:\w+ ){0,2}(?:diagnostic|evaluation (?:metric|measure|protocol|criterion))\b"
    r"|\bfor (?:evaluation|reporting) only\b",
    re.IGNORECASE,
)
_MEASURE_BY_NAME = re.compile(
    r"\b(?:metrics?|evaluation(?: metric| measure| protocol| procedure)?|diagnostics?|benchmarks?)$", re.IGNORECASE
)
_SENTENCE = 400
_UNMEASURED = 0.05
"""The change assumed for components that were never measured, so that they can be ranked."""

_ORDERS: tuple[Callable[[Component], float], ...] = (
    lambda c: -abs(c.measured) if c.measured is not None else -_UNMEASURED,
    lambda c: -c.mentioned,
    lambda c: -(len(c.findings) + len(c.users)),
    lambda c: -c.place,
    lambda c: c.parts > 0,
    lambda c: c.depth,
)


def propose(material: Material, k: int) -> tuple[PlannedAblation, ...]:
    """Returns an ablation for each of the first `k` components in `ranking`, without the lines to change."""
    return tuple(_ablation(component) for component in ranking(material)[:k])


def ranking(material: Material) -> list[Component]:
    """Returns the components, most promising first. Omits components that only group other components. A component is
    moved behind all others if it is above or below a chosen component, or if their names differ only by a qualifier.
    Components that only measure results come last."""
    by_id = {component.id: component for component in material.components}
    chosen: list[Component] = []
    related: list[Component] = []
    measuring: list[Component] = []
    without = {component.id for component in groupings(material.components)}
    for component in _ranked([each for each in material.components if each.id not in without]):
        if only_measures(component):
            measuring.append(component)
            continue
        near = any(_within(component, other, by_id) or _same_name(component, other) for other in chosen)
        (related if near else chosen).append(component)
    return [*chosen, *related, *measuring]


def only_measures(component: Component) -> bool:
    """Returns whether a component only measures the method's results. Its name or definition must suggest measurement,
    no other component's code may use it, and no finding may mention it."""
    if component.users or component.parts or component.findings:
        return False
    first = re.split(r"(?<=[.!?]) ", component.definition[:_SENTENCE], maxsplit=1)[0]
    return bool(_MEASURES.search(first) or _MEASURE_BY_NAME.search(component.name.strip()[-80:]))


def groupings(components: Sequence[Component]) -> Sequence[Component]:
    """Returns the components of groups that nothing in the graph depends on, such as a taxonomy or a theory's headings.
    A group is a component with its parts. Returns nothing if these are all components, because the graph may simply
    contain too little information."""
    by_id = {component.id: component for component in components}
    definitions = {component.id: _spaced(component.definition) for component in components}
    rested = {name for c in components if _rested_on(c, by_id, definitions) for name in (c.id, *_above(c, by_id))}
    frames = {component.id for component in components if component.parts} - rested
    found = [c for c in components if c.id not in rested and frames.intersection((c.id, *_above(c, by_id)))]
    return found if len(found) < len(components) else ()


def _rested_on(component: Component, by_id: dict[str, Component], definitions: dict[str, str]) -> bool:
    """Returns whether there is evidence that the method contains this component. Evidence can come from the abstract, a
    finding, the code, stored lines, or similar techniques in other papers. It can also come from the definition of a
    component that is neither above nor below this one."""
    known = component.findings or component.users or component.place or component.level != "none"
    if known or component.mentioned > _MOST_OF_A_NAME or _ideas(component):
        return True
    name = _spaced(component.name)
    return any(
        name in definitions[other.id] and other.id != component.id and not _within(component, other, by_id)
        for other in by_id.values()
    )


def _spaced(text: str) -> str:
    return f" {' '.join(word.casefold() for word in _WORD.findall(text))} "


def _ranked(components: Sequence[Component]) -> Sequence[Component]:
    """Sorts components, best first, by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). Equal
    components share a rank, and ties are in the paper's order."""

    def score(component: Component) -> float:
        better = (sum(order(other) < order(component) for other in components) for order in _ORDERS)
        return sum(1 / (_FUSED_FROM + 1 + rank) for rank in better)

    return sorted(components, key=lambda component: -score(component))


def _within(a: Component, b: Component, by_id: dict[str, Component]) -> bool:
    return b.id in _above(a, by_id) or a.id in _above(b, by_id)


def _same_name(a: Component, b: Component) -> bool:
    """Returns whether two names are equal, ignoring case, hyphens and spaces. Also returns true if one name is the
    other with a qualifier in front ("test-time X" and "X"). Returns false for single-word names, which are too
    generic."""
    shorter, longer = sorted(([word.casefold() for word in _WORD.findall(c.name)] for c in (a, b)), key=_length)
    return "".join(longer).endswith("".join(shorter)) and len(shorter) > 1


def _length(words: Sequence[str]) -> int:
    return sum(map(len, words))


def _above(component: Component, by_id: dict[str, Component]) -> Sequence[str]:
    above = []
    parent = component.parent
    while parent is not None:
        above.append(parent)
        parent = by_id[parent].parent if parent in by_id else None
    return above


def _ablation(component: Component) -> PlannedAblation:
    action: Action = "REPLACE" if _bound(component) else "REMOVE"
    return PlannedAblation(
        name=f"{component.name} made trivial" if action == "REPLACE" else f"Without {component.name}",
        component=component.id,
        ablated_part=component.name + (f" of {component.parent_name}" if component.parent_name else ""),
        action=action,
        replacement=(PLAINEST,) if action == "REPLACE" else (),
        metrics=component.tables[:_MOST_METRICS],
        why="; ".join(reasons(component)),
        ideas=_ideas(component),
    )


def _ideas(component: Component) -> tuple[str, ...]:
    return tuple(f"{a.name} ({a.paper_title})" for a in component.alternatives if a.score >= _FITTING)


def reasons(component: Component) -> list[str]:
    """Returns reasons for ablating a component, and advice on how to ablate it."""
    reasons = []
    if component.measured is not None:
        reasons.append(f"an ablation measured {component.measured:+.1%}")
    if component.mentioned == 1:
        reasons.append("the abstract mentions it")
    elif component.mentioned >= 0.5:
        reasons.append("the abstract contains part of its name")
    if component.findings:
        reasons.append(f"findings in the paper mention it ({'; '.join(component.findings[:2])})")
    if only_measures(component):
        reasons.append(
            "judging by its name or definition, it evaluates the method's results, and no code in the method uses it"
        )
    else:
        of = component.parent_name or "the method"
        unused = "no code for it is known" if component.level == "none" else "no other code is known to use it"
        reasons.append(_bound(component) or f"{unused}, and other parts of {of} remain")
    return reasons


def _bound(component: Component) -> str:
    if component.users:
        return f"the code for {', '.join(component.users[:3])} uses it, so it is replaced, not removed"
    if component.parts:
        return "its own parts depend on it, so it is replaced, not removed"
    if _ideas(component):
        return "other papers have similar techniques, so it is replaced, not removed"
    return "" if component.siblings else f"it is the only part of {component.parent_name or 'the method'}"
