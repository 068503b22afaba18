"""Builds a working copy's candidate space from a paper's techniques, and from switches and sites in the code. Code that
belongs to no technique becomes a separate component."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set

from xkg.agents.ablation.candidates import KINDS, NOT_RUN, Candidate, Component, LeftOut, Place, Space
from xkg.agents.ablation.space import exclusions
from xkg.agents.ablation.space.flow import Flow, Named
from xkg.agents.ablation.space.forms import own_steps
from xkg.agents.ablation.space.measurement import returned_sums
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.reasons import Reasons
from xkg.agents.ablation.space.stages import Change, Site, alternatives, sites
from xkg.agents.ablation.space.switches import (
    PRIOR,
    Switch,
    compared_with,
    file_switches,
    given_by,
    parameters_of,
    python_switches,
    signatures_of,
    undeclared,
)  # fmt: skip
from xkg.agents.ablation.space.values import values_of
from xkg.agents.workspace.program.metric import Metric
from xkg.agents.workspace.program.started_files import started_files
from xkg.build.code.settings import Setting

MOST_COMPONENTS = 60
_MOST_OF_ONE = 12
_PROGRAM = re.compile(r"(?<![\w./-])[\w./-]{1,300}\.py\b")
_ALTERNATIVE_WEIGHT, _SITE_WEIGHT, _OFF, _NUMBER = 0.8, 0.7, 0.1, -0.1


def find_space(
    sources: Sequence[PythonSource],
    settings: Sequence[Setting],
    texts: Mapping[str, str],
    metric: Metric,
    techniques: Sequence[Component] = (),
    *,
    command: str = "",
    executed: Mapping[str, frozenset[int]] | None = None,
    opened: Set[str] | None = None,
    printed: tuple[str, int] | None = None,
) -> tuple[Space, list[Place], list[Place]]:
    """Returns the space, the protected lines that compute the metric, and the functions that these lines call.
    `settings` are entries in configuration files. `texts` contains the text of these files. `techniques` are the
    paper's components, with places in these files. `command` is the task's command, which may set options. `executed`
    maps files to the lines that the baseline runs. `opened` contains the files that the baseline opens. `printed` is
    the line that prints the metric. `executed`, `opened` and `printed` are None if unknown. Omits code that did not run
    and files that were not read."""
    ran = _started(sources, command) if executed is None else {path for path, lines in executed.items() if lines}
    idle = [source.path for source in sources if source.path not in ran] if executed is not None else []
    sources = [source for source in sources if source.path in ran]
    written, protected, shared = exclusions.metric_code(sources, metric, command, printed)
    parameters, signatures = parameters_of(sources), signatures_of(sources)
    # The slice does not follow values through files, for example between two programs that the command starts.
    programs = _PROGRAM.findall(command)
    alone = all(_writes(program, sources, written) for program in programs) if written else len(programs) < 2
    sums = [source.place(s) for source in sources for _, f in source.functions for s in returned_sums(f)]
    steps, compared = own_steps(sources), compared_with(sources)

    def built(*, broadly: bool) -> tuple[Space, list[Place], list[Place]]:
        flow = Flow(sources, None if broadly else executed, written if alone else [], broadly=broadly)
        measuring = [*protected, *(place for place in sums if flow.reaches(place) and flow.only_measures(place))]
        reasons = Reasons(sources, written, measuring, executed, flow, signatures)
        builder = _Builder(techniques, reasons, flow, parameters)
        for source in sources:
            for switch in python_switches(source, parameters, compared):
                builder.add_switch(given_by(switch, command))
        for path in idle:
            builder.leave_out(path, Place(path=path, start_line=1, end_line=1), NOT_RUN)
        for path in sorted({each.path for each in settings if opened is not None and each.path not in opened}):
            builder.leave_out(path, Place(path=path, start_line=1, end_line=1), "the baseline does not read it")
        for switch in file_switches([each for each in settings if opened is None or each.path in opened], texts):
            builder.add_switch(given_by(switch, command))
        for switch in undeclared(command, builder.declared):
            builder.add_switch(switch)
        found = (site for source in sources for site in sites(source, steps))
        for site in (*found, *alternatives(sources, executed)):
            builder.add_site(site)
        return builder.space(), [*written, *measuring], shared

    found = built(broadly=False)
    # If there are no candidates, also consider branches that are never taken, and conditions around the statements that
    # write the metric. Even a branch that is never taken can determine a value, such as an error count that stays 0.
    return found if found[0].candidates else built(broadly=True)


def _writes(program: str, sources: Sequence[PythonSource], written: Sequence[Place]) -> bool:
    return not {place.path for place in written}.isdisjoint(_started(sources, program))


def _started(sources: Sequence[PythonSource], command: str) -> set[str]:
    """Returns the files that a command starts (see `started_files`), or all files if it starts none."""
    trees = {source.path: source.tree for source in sources}
    return started_files(trees, command) or {*trees}


class _Builder:
    def __init__(
        self,
        techniques: Sequence[Component],
        reasons: Reasons,
        flow: Flow,
        parameters: Mapping[str, Sequence[str]],
    ) -> None:
        self._techniques = list(techniques)
        self._reasons, self._flow, self._parameters = reasons, flow, parameters
        self.declared: set[str] = set()
        self._components: dict[str, Component] = {}
        self._candidates: dict[str, list[Candidate]] = {}
        self._left_out: dict[tuple[str, str], LeftOut] = {}
        self._steps: dict[str, str] = {}
        self._within: dict[str, set[str]] = defaultdict(set)
        self._idle = set[frozenset[str]]()

    def add_switch(self, switch: Switch) -> None:
        short = switch.short
        if switch.origin in ("option", "setting"):
            self.declared.add(short)
        why = self._reasons.of_switch(switch)
        if switch.value == 0 and not isinstance(switch.value, bool):
            self._idle |= {frozenset(self._flow.readers(short))}
        # A default or argument that chooses between two values is often a direction, as in `layer(x, reverse=False)`.
        selects = switch.origin in ("option", "field", "setting") and self._flow.plays("selecting", Named(short))
        chance = self._is_chance(switch, short)
        off = chance or self._flow.plays("weights", Named(short))
        rate = self._flow.known and self._flow.plays("chances", Named(short))
        values = list(values_of(switch, leaves_out=off, selects=selects, chance=rate))
        if off and not chance:  # a factor of 0 may remove more than the component
            values.sort(key=lambda each: each[1] == "0.0")
        if not why and not values:
            why = "already off in the baseline" if not switch.value else "nothing to set it to"
        if why:
            if switch.origin != "argument":  # listing the arguments of all calls would clutter the report
                self.leave_out(switch.name, switch.place, why)
            return
        technique = self._technique_at(switch.place)
        named = f"{switch.function}({switch.name})" if switch.function else switch.name
        another = _ALTERNATIVE_WEIGHT - PRIOR[switch.origin] if isinstance(switch.value, str) else 0.1
        weight = PRIOR[switch.origin] + (
            another if values[0][0] != "scale" else _OFF if values[0][1] == "0.0" else _NUMBER
        )
        component = technique or self._own(named, switch.place, weight, switch.origin)
        self._within[component.id] |= self._flow.readers(short)
        for kind, new, value in values:
            change = Change(kind=kind, value=value, replacements=(switch.set_to(new),), probe=switch.probes())
            self._add(component, change, switch.place, switch.text, f"{named}: {switch.text} → {value}")

    def _is_chance(self, switch: Switch, short: str) -> bool:
        """Returns whether a number is a probability or a fraction passed to a library. For such a number, a value of 0
        disables part of the method."""
        if isinstance(switch.value, str) or not 0 < switch.value <= 1:
            return False
        if switch.origin == "argument" and switch.function not in self._parameters:
            return isinstance(switch.value, float)
        return not self._flow.known or self._flow.plays("chances", Named(short))

    def add_site(self, site: Site) -> None:
        technique = self._technique_at(site.place)
        function = site.place.symbol.rpartition(".")[2]
        name = f"{site.text} in {function}" if function else site.text
        if why := self._reasons.of_site(site):
            self.leave_out(name, site.place, why)
            return
        weight = _ALTERNATIVE_WEIGHT if site.what == "the function" else _SITE_WEIGHT
        step = f"{site.place.path}::{site.step}" if site.step else ""
        component = technique or (self._components.get(self._steps[step]) if step in self._steps else None)
        component = component or self._own(name, site.place, weight, "")
        self._within[component.id].add(function)
        if step:
            self._steps.setdefault(step, component.id)
        for change in site.changes:
            text = f"{site.what} {site.text} → {'off' if change.kind == 'toggle' else change.value}"
            self._add(component, change, site.place, site.text, text)

    def _join_parts(self) -> None:
        """Merges components into a stage if only the stage's function uses them. For example, a mutation with a rate of
        0 does nothing."""
        by_function = {step.rpartition("::")[2]: component for step, component in self._steps.items()}
        for function in by_function.keys() & {name for names in self._idle if len(names) == 1 for name in names}:
            for candidate in self._candidates.pop(by_function[function], ()):
                self.leave_out(candidate.description, candidate.places[0], "already off in the baseline")
        for id, functions in self._within.items():
            whole = by_function.get(*functions) if len(functions) == 1 else None
            if whole in (None, id) or self._components[id].technique or id not in self._candidates:
                continue
            parts = [c for c in self._candidates.pop(id) if c.kind != "toggle" and c.value != "0.0"]
            moved = [each.model_copy(update={"component": whole}) for each in parts]
            self._candidates.setdefault(whole, []).extend(moved)
            self._within[whole] -= functions

    def space(self) -> Space:
        self._join_parts()
        ranked = sorted(self._components.values(), key=lambda c: (c.technique is None, -c.weight, c.order))
        ranked = [component for component in ranked if self._candidates.get(component.id)]
        for component in ranked[MOST_COMPONENTS:]:
            self.leave_out(component.name, component.places[0], f"beyond the first {MOST_COMPONENTS} components")
        placed = {technique.id for technique in ranked}
        for technique in self._techniques:
            if technique.id not in placed:
                why = (
                    "nothing in its lines can be changed without a model"
                    if technique.places
                    else "no place in the code"
                )
                place = technique.places[0] if technique.places else Place(path="", start_line=0, end_line=0)
                self.leave_out(technique.name, place, why)
        kept = [c.model_copy(update={"order": i}) for i, c in enumerate(ranked[:MOST_COMPONENTS])]
        candidates = []
        for component in kept:
            own = _with_all(self._candidates[component.id], step=component.id in self._steps.values())
            # the sort is stable, so candidates of one kind keep their order
            own.sort(key=lambda c: KINDS.index(c.kind))
            candidates += own[:_MOST_OF_ONE]
        return Space(components=tuple(kept), candidates=tuple(candidates), left_out=tuple(self._left_out.values()))

    def _technique_at(self, place: Place) -> Component | None:
        """Returns the technique with the shortest range of lines around the place."""
        found = [
            (own.end_line - own.start_line, technique)
            for technique in self._techniques
            for own in technique.places
            if own.holds(place)
        ]
        if not found:
            return None
        technique = min(found, key=lambda pair: pair[0])[1]
        return self._components.setdefault(technique.id, technique)

    def _own(self, name: str, place: Place, weight: float, why: str) -> Component:
        # A class parameter is one component, whether its default or a call sets it.
        id = name if "(" in name and name[0].isupper() and why in PRIOR else f"{place.path}::{name}"
        if id not in self._components:
            self._components[id] = Component(
                id=id, name=name, places=(place,), weight=weight, order=len(self._components),
                reasons=(why,) if why else (),
            )  # fmt: skip
        elif place not in self._components[id].places:
            known = self._components[id]
            self._components[id] = known.model_copy(update={"places": (*known.places, place)})
        return self._components[id]

    def _add(self, component: Component, change: Change, place: Place, before: str, description: str) -> None:
        candidate = Candidate(
            component=component.id, kind=change.kind, value=change.value, baseline_value=before, places=(place,),
            description=description, replacements=change.replacements, probe=change.probe,
        )  # fmt: skip
        own = self._candidates.setdefault(component.id, [])
        if all(candidate.id != other.id for other in own):
            own.append(candidate)

    def leave_out(self, name: str, place: Place, why: str) -> None:
        self._left_out.setdefault((name, str(place)), LeftOut(name=name, place=place, reason=why))


def _with_all(candidates: Sequence[Candidate], *, step: bool) -> list[Candidate]:
    """Merges candidates that make the same change in several places, or that remove calls in the same `step`."""
    equal: dict[object, list[Candidate]] = {}
    for each in candidates:
        off = step and each.kind == "toggle"
        equal.setdefault("off" if off else (each.kind, each.baseline_value, each.value), []).append(each)
    return [_in_all(group) for group in equal.values()]


def _in_all(candidates: Sequence[Candidate]) -> Candidate:
    first, *others = candidates
    replacements = {(r.path, r.start): r for c in candidates for r in c.replacements}
    return first if not others else first.model_copy(
        update={
            "places": tuple(place for c in candidates for place in c.places),
            "replacements": tuple(replacements[at] for at in sorted(replacements)),
            "probe": tuple(r for c in candidates for r in c.probe),
            "description": f"{first.description}, in all {len(candidates)} places",
        }
    )  # fmt: skip
