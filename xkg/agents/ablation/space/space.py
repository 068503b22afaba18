"""The candidate space of a working copy: techniques of a paper with their places, joined with switches and sites of the
code; what belongs to neither stands for itself."""

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from xkg.agents.ablation.candidates import COMMAND, KINDS, Candidate, Component, Kind, LeftOut, Place, Space
from xkg.agents.ablation.space import exclusions
from xkg.agents.ablation.space.calls import Calls
from xkg.agents.ablation.space.expressions import Change, Site, alternatives, is_minimized, sites
from xkg.agents.ablation.space.python_source import PythonSource, words_of
from xkg.agents.ablation.space.switches import (
    PRIOR,
    Switch,
    file_switches,
    given_by,
    options_read,
    parameters_of,
    python_switches,
    undeclared,
)  # fmt: skip
from xkg.agents.workspace.metric import Metric
from xkg.build.code.settings import Setting

MOST_COMPONENTS = 60
_MOST_OF_ONE = 12
_NEGATIVE = frozenset({"no", "without", "disable", "skip"})
_GUARDS = frozenset({"eps", "epsilon", "tiny", "tol", "min"})
_GUARD_WEIGHT, _GUARDS_BELOW = 0.1, 0.01
_ALTERNATIVE_WEIGHT, _OBJECTIVE_WEIGHT, _SITE_WEIGHT = 0.7, 0.6, 0.4


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
) -> tuple[Space, list[Place], list[Place]]:
    """The space, the lines that compute the metric, which nothing may change, and the functions that these call.

    `settings` are entries of configuration files, whose text is in `texts`; `techniques` components with places in
    these files; `command` is the task's, which may set options; `executed` the lines that the baseline runs, by
    file, and `opened` the files that it opens, where that is known: what was not run or read cannot matter."""
    written, protected, shared = exclusions.metric_code(sources, metric)
    parameters = parameters_of(sources)
    builder = _Builder(techniques, written, protected, executed, options_read(sources), sources, parameters)
    for source in sources:
        for switch in python_switches(source, parameters):
            builder.add_switch(given_by(switch, command))
    for path in sorted({setting.path for setting in settings if opened is not None and setting.path not in opened}):
        builder.leave_out(path, Place(path=path, start_line=1, end_line=1), "the baseline does not read it")
    for switch in file_switches([each for each in settings if opened is None or each.path in opened], texts):
        builder.add_switch(given_by(switch, command))
    for switch in undeclared(command, builder.declared):
        builder.add_switch(switch)
    for source in sources:
        for site in sites(source):
            builder.add_site(site)
    for site in alternatives(sources):
        builder.add_site(site)
    return builder.space(), [*written, *protected], shared


class _Builder:
    def __init__(
        self,
        techniques: Sequence[Component],
        written: Sequence[Place],
        protected: Sequence[Place],
        executed: Mapping[str, frozenset[int]] | None,
        read: Set[str] | None,
        sources: Sequence[PythonSource],
        parameters: Mapping[str, Sequence[str]],
    ) -> None:
        self._techniques = list(techniques)
        self._calls = Calls(sources, executed, parameters)
        self._tasks, self._task_places = exclusions.environments(sources)
        self._of_task = exclusions.handed_to(sources, self._tasks)
        self._beside = exclusions.only_beside(sources)
        self._minimized = is_minimized(sources)
        self._written, self._protected = written, protected
        self._own_functions = {name for name in parameters if not exclusions.measures(name)}
        self._executed = executed
        self._read = read
        self.declared: set[str] = set()
        self._components: dict[str, Component] = {}
        self._candidates: dict[str, list[Candidate]] = {}
        self._left_out: dict[tuple[str, str], LeftOut] = {}
        self._switches: dict[str, str] = {}

    def add_switch(self, switch: Switch) -> None:
        short = switch.name.rpartition(".")[2].replace("-", "_")
        if switch.origin in ("option", "setting"):
            self.declared.add(short)
        # `print("loss:", Model(rate=0.1).fit())` writes the metric and configures the method.
        configures = switch.origin == "argument" and switch.function in self._own_functions
        why = self._excluded(switch.name, switch.place, self._protected if configures else self._measuring)
        caller = switch.place.symbol.rpartition(".")[2]
        if not why and ({switch.function, caller} & self._beside or exclusions.is_work(switch.function)):
            why = "input, output or data"
        if not why and exclusions.splits_data(switch.function):
            why = "data and their evaluation"
        if not why and switch.scope is not None:
            why = self._unexecuted(switch.scope)
        if not why and switch.given:
            why = "set by the command"
        named_as = f".{short}" if switch.origin in ("option", "field", "attribute", "setting") else short
        if not why and (switch.function in self._tasks or (switch.place.path, named_as) in self._of_task):
            why = exclusions.TASK
        if not why and isinstance(switch.value, bool) and self._calls.both_ways(switch.function, switch.name):
            why = "calls give it either value"
        if not why and switch.origin in ("default", "field") and self._calls.override(switch.function, switch.name):
            why = "every call that ran sets it"
        if not why and switch.origin == "option" and self._read is not None and short not in self._read:
            why = "no code reads it"
        values = list(_values(switch))
        if not why and not values:
            why = "already off in the baseline" if not switch.value else "nothing to set it to"
        if why:
            if switch.origin != "argument":  # arguments of every call would fill the list
                self.leave_out(switch.name, switch.place, why)
            return
        technique = self._technique_at(switch.place)
        named = f"{switch.function}({switch.name})" if switch.function else switch.name
        small = isinstance(switch.value, float) and abs(switch.value) < _GUARDS_BELOW  # 0.1 explores
        guard = small and bool(_GUARDS.intersection(words_of(switch.name)))
        weight = _GUARD_WEIGHT if guard else PRIOR[switch.origin]
        component = technique or self._own(
            named, switch.place, weight, "a guard of numbers" if guard else switch.origin
        )
        if switch.origin in ("option", "field", "setting", "attribute", "constant"):
            self._switches.setdefault(short if switch.origin == "constant" else f".{short}", component.id)
        for kind, new, value in values:
            change = Change(kind=kind, value=value, replacements=(switch.set_to(new),), probe=switch.probes())
            self._add(component, change, switch.place, switch.text, f"{named}: {switch.text} → {value}")

    def add_site(self, site: Site) -> None:
        technique = self._technique_at(site.place)
        joined = next((self._switches[name] for name in site.names if name in self._switches), None)
        alone = site.objective or site.what in ("the call", "the update", "the function", "the part")
        function = site.place.symbol.rpartition(".")[2]
        name = f"{site.text} in {function}" if function else site.text
        if technique is None and joined is None and not alone:
            return
        why = self._excluded("", site.place, self._measuring) or (function in self._beside and "input, output or data")
        if why:
            self.leave_out(name, site.place, str(why))
            return
        component = technique or (self._components[joined] if joined else None)
        weight = _SITE_WEIGHT
        if site.objective:
            weight = _OBJECTIVE_WEIGHT if self._minimized else _GUARD_WEIGHT
        if site.what == "the function":  # another part of the method says more than another number
            weight = _ALTERNATIVE_WEIGHT
        component = component or self._own(
            name, site.place, weight, "a term of the objective" if site.objective else ""
        )
        for change in site.changes:
            text = f"{site.what} {site.text} → {_in_words(change)}"
            self._add(component, change, site.place, site.text, text)

    def space(self) -> Space:
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
            own = _with_all(self._candidates[component.id])
            own.sort(key=lambda c: KINDS.index(c.kind))  # stable
            candidates += own[:_MOST_OF_ONE]
        return Space(components=tuple(kept), candidates=tuple(candidates), left_out=tuple(self._left_out.values()))

    @property
    def _measuring(self) -> Sequence[Place]:
        return [*self._written, *self._protected]

    def _excluded(self, name: str, place: Place, measuring: Sequence[Place]) -> str | None:
        if any(measures.meets(place) for measures in measuring):
            return "it computes the metric"
        if any(task.holds(place) for task in self._task_places):
            return exclusions.TASK
        return self._unexecuted(place) or (exclusions.reason(name.rpartition(".")[2]) if name else None)

    def _unexecuted(self, place: Place) -> str | None:
        if self._executed is None or not place.path.endswith(".py"):
            return None
        lines = self._executed.get(place.path, frozenset())
        ran = any(line in lines for line in range(place.start_line, place.end_line + 1))
        return None if ran else "the baseline does not run it"

    def _technique_at(self, place: Place) -> Component | None:
        """The technique whose smallest lines hold the place."""
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
        # A parameter of a class is one component, whether its default or a call sets it.
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


def _with_all(candidates: Sequence[Candidate]) -> list[Candidate]:
    """With one more in front, where several switch off the same code in different places: all of them at once."""
    off = [c for c in candidates if c.kind == "toggle"]
    if len(off) < 2 or len({(c.baseline_value, c.value) for c in off}) > 1:
        return list(candidates)
    replacements = sorted((r for c in off for r in c.replacements), key=lambda r: (r.path, r.start))
    joint = off[0].model_copy(
        update={
            "places": tuple(place for c in off for place in c.places),
            "replacements": tuple(replacements),
            "probe": tuple(r for c in off for r in c.probe),
            "description": f"{off[0].description}, in all {len(off)} places",
        }
    )
    return [joint, *candidates]


def _in_words(change: Change) -> str:
    if change.kind == "toggle":
        return "off"
    return f"× {change.value}" if change.kind == "scale" else change.value


def _values(switch: Switch) -> Iterator[tuple[Kind, str, str]]:
    """(kind, text to write, value in words) for each way to set a switch. A number stays where it is legal: one below
    1 stays below 1, since it may be a share; a whole number neither becomes 0 nor 1, which few counts may be."""
    value = switch.value
    written = str if switch.at.path == COMMAND else ast.literal_eval
    others = [choice for choice in switch.choices if written(choice) != value]
    if isinstance(value, bool):
        negative = bool(words_of(switch.name)) and words_of(switch.name)[0] in _NEGATIVE
        if value is not negative:
            new = str(not value)
            yield "toggle", switch.at.new or (new.lower() if switch.text.islower() else new), new
    elif isinstance(value, str):
        yield from (("replace", choice, choice) for choice in others)
    elif value and switch.choices:
        yield from (("grid", choice, choice) for choice in others)
    elif isinstance(value, int) and value > 0:
        for count in dict.fromkeys((max(2, value // 2), value * 2)):
            if count != value:
                yield "scale", str(count), str(count)
    elif isinstance(value, float) and value:
        above = (1 + value) / 2 if 0.5 <= value < 1 else value * 2
        learns = not {"lr", "learning"}.isdisjoint(words_of(switch.name))  # at a rate of 0 there is no method
        for number in (value / 2, above) if learns else (0.0, value / 2, above):
            yield "scale", f"{number:.12g}" if number else "0.0", f"{number:.12g}" if number else "0.0"
        if 0 < value < 0.1:
            for factor in (0.1, 10.0):
                yield "grid", f"{value * factor:.12g}", f"{value * factor:.12g}"
