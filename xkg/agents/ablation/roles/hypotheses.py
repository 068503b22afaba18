"""Turns hypotheses into components. A hypothesis is refused unless the code contains its places, the baseline runs
them, and they do not compute the metric."""

from collections.abc import Mapping, Sequence

from xkg.agents.ablation.candidates import Candidate, Component, LeftOut, Place, Space
from xkg.agents.ablation.parsing import Function
from xkg.agents.ablation.roles.answers import Hypotheses, Hypothesis, PlaceNamed
from xkg.model import slug

_NOWHERE = Place(path="", start_line=0, end_line=0)


class Code:
    """Checks hypotheses against the code. `executed` maps files to the lines that the baseline runs, or is None if
    these are unknown. `protected` contains the lines that compute the metric."""

    def __init__(
        self,
        texts: Mapping[str, str],
        functions: Sequence[Function],
        executed: Mapping[str, Sequence[int]] | None,
        protected: Sequence[Place],
    ) -> None:
        self._lines = {path: text.count("\n") + 1 for path, text in texts.items()}
        self._functions = functions
        self._executed = None if executed is None else {path: set(lines) for path, lines in executed.items()}
        self._protected = protected

    def places(self, hypothesis: Hypothesis) -> tuple[list[Place], str]:
        """Returns the valid places, and the problem with the first invalid place ('' if all places are valid)."""
        places, fault = [], ""
        for named in hypothesis.places:
            found = self._place(named)
            if isinstance(found, Place):
                places.append(found)
            else:
                fault = fault or found
        return places, fault or ("" if places else "it lists no place")

    def _place(self, named: PlaceNamed) -> Place | str:
        path = named.path.removeprefix("./")
        last = self._lines.get(path)
        if last is None:
            return f"there is no file {path!a}"
        start, end, symbol = named.start_line, named.end_line, named.symbol.removesuffix("()")
        if symbol:
            found = [f for f in self._functions if f.path == path and symbol in (f.name, f.name.rpartition(".")[2])]
            if not found:
                return f"{path} has no function {symbol!a}"
            inside = [f for f in found if start is None or f.start_line <= start <= (end or start) <= f.end_line]
            if not inside:
                return f"lines {start}-{end} of {path} are not in {symbol}"
            symbol, start, end = inside[0].name, start or inside[0].start_line, end or start or inside[0].end_line
        if start is None or not 1 <= start <= (end or start) <= last:
            return f"{path} has {last} lines: specify a function, or a range of lines within one"
        place = Place(path=path, start_line=start, end_line=end or start, symbol=symbol)
        if self._executed is not None and path.endswith(".py"):
            ran = self._executed.get(path, set())
            if not any(line in ran for line in range(place.start_line, place.end_line + 1)):
                return f"the baseline does not run {place}"
        if any(protected.holds(place) for protected in self._protected):
            return f"{place} computes the metric"
        return place


def objection(answer: Hypotheses, code: Code) -> str | None:
    """Returns a message that explains the problems to the model if most hypotheses in its answer are unusable, and None
    otherwise."""
    faults = [(h.name, fault) for h in answer.components if (fault := code.places(h)[1]) and not code.places(h)[0]]
    if not answer.components:
        return "give at least one component with a place in this code"
    if 2 * len(faults) > len(answer.components):
        return "; ".join(f"{name}: {fault}" for name, fault in faults[:6])
    return None


def joined(space: Space, answer: Hypotheses, code: Code, techniques: Sequence[Component]) -> Space:
    """Adds hypotheses to the space as components. If a hypothesis lists known components, their candidates are moved to
    the new component. Records gaps and hypotheses without a place as left out."""
    components: list[Component] = []
    left_out = list(space.left_out)
    owner: dict[str, str] = {}
    for hypothesis in answer.components:
        places, fault = code.places(hypothesis)
        name = " ".join(hypothesis.name.split())[:120] or "unnamed"
        if not places:
            left_out.append(LeftOut(name=name, place=_NOWHERE, reason=f"a hypothesis without a place: {fault}"))
            continue
        number = hypothesis.technique
        technique = techniques[number - 1].id if number and 1 <= number <= len(techniques) else None
        taken = {component.id for component in components}
        id = technique if technique and technique not in taken else f"hypothesis::{slug(name)}"
        while id in taken:
            id += "-2"
        known = [space.components[n - 1] for n in hypothesis.known if 1 <= n <= len(space.components)]
        known += [c for c in space.components if c.id == id]
        for each in known:
            owner.setdefault(each.id, id)
        absorbed = [
            place
            for each in known
            if owner[each.id] == id
            for place in each.places
            if not any(own.holds(place) for own in places)
        ]
        components.append(
            Component(
                id=id, name=name, places=tuple(dict.fromkeys([*places, *absorbed])), technique=technique,
                weight=min(1.0, max(0.0, hypothesis.weight)), order=len(components),
                reasons=tuple(filter(None, (f"hypothesis: {' '.join(hypothesis.why.split())[:300]}",))),
            )
        )  # fmt: skip
    left_out += [
        LeftOut(
            name=" ".join(gap.name.split())[:120], place=_NOWHERE, reason=f"a gap: {' '.join(gap.why.split())[:200]}"
        )
        for gap in answer.gaps
    ]
    ids = {component.id for component in components}
    rest = [c for c in space.components if c.id not in owner and c.id not in ids]
    components += [c.model_copy(update={"order": len(components) + n}) for n, c in enumerate(rest)]
    candidates = tuple(_moved(candidate, owner) for candidate in space.candidates)
    return Space(components=tuple(components), candidates=candidates, left_out=tuple(left_out))


def _moved(candidate: Candidate, owner: Mapping[str, str]) -> Candidate:
    new = owner.get(candidate.component)
    return candidate.model_copy(update={"component": new}) if new else candidate
