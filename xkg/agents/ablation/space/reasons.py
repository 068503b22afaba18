"""Explains why a switch or a site is not part of a method, based on how the run uses it."""

import ast
from collections import Counter
from collections.abc import Mapping, Sequence, Set

from xkg.agents.ablation.candidates import NOT_RUN, Place
from xkg.agents.ablation.space import exclusions
from xkg.agents.ablation.space.calls import Calls
from xkg.agents.ablation.space.flow import Flow, Named
from xkg.agents.ablation.space.python_source import PythonSource, words_of
from xkg.agents.ablation.space.stages import Site
from xkg.agents.ablation.space.switches import Switch

_GUARDS = frozenset({"eps", "epsilon", "tiny", "tol", "min"})
_GUARDS_BELOW = 0.01
_LEAST = 2  # 0 and 1 are often signs, indices or results
NOT_COMPUTED = "the metric is not computed from it"
MEASURES = "it computes the metric"


class Reasons:
    """Finds reasons for leaving out code. `written` and `protected` are the lines that compute the metric. `executed`
    maps files to the lines that ran, or is None if these are unknown. `signatures` is the result of `signatures_of`."""

    def __init__(
        self,
        sources: Sequence[PythonSource],
        written: Sequence[Place],
        protected: Sequence[Place],
        executed: Mapping[str, frozenset[int]] | None,
        flow: Flow,
        signatures: Mapping[str, Set[tuple[str, ...]]],
    ) -> None:
        self._calls = Calls(sources, executed, signatures)
        self._tasks, self._task_places = exclusions.environments(sources)
        self._protected, self._measuring = protected, [*written, *protected]
        self._functions = signatures.keys()
        self._executed, self._flow = executed, flow
        self._handed = flow.handed_to(self._tasks)
        self._reads = Counter(
            node.id if isinstance(node, ast.Name) else f".{node.attr}"
            for source in sources
            for node in ast.walk(source.tree)
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
        )
        tables = (n for source in sources for n in ast.walk(source.tree) if isinstance(n, ast.Dict))
        keys = (key.value for table in tables for key in table.keys if isinstance(key, ast.Constant))
        self._keys = {key for key in keys if isinstance(key, str)}

    def of_switch(self, switch: Switch) -> str | None:
        """Returns the reason for not trying a switch, or None."""
        short = switch.short
        # A call such as `print("loss:", Model(rate=0.1).fit())` both writes the metric and configures the method.
        own = switch.origin == "argument" and switch.function in self._functions
        configures = own and not exclusions.measures(switch.function)
        if why := self._of_place(switch.place, self._protected if configures else self._measuring):
            return why
        if why := self._unexecuted(switch.scope) if switch.scope else None:
            return why
        if switch.given:
            return "set by the command"
        set_anyway = switch.origin in ("default", "field")
        if set_anyway and self._calls.override(switch.function, switch.name, self._keys):
            return "every call that ran sets it"
        if why := exclusions.reason(short):
            return why
        if switch.function in {*self._tasks, exclusions.SPLIT} or short in self._handed:
            return exclusions.TASK
        if isinstance(switch.value, bool) and self._calls.both_ways(switch.function, switch.name):
            return "calls use both of its values"
        if isinstance(switch.value, str) and exclusions.names_task(short):
            return exclusions.TASK
        return self._no_part(switch, short)

    def of_site(self, site: Site) -> str | None:
        """Returns the reason for not trying a site, or None."""
        if why := self._of_place(site.place, self._measuring):
            return why
        if not self._flow.reaches(site.place):
            return NOT_COMPUTED
        return exclusions.TASK if self._flow.gives(site.place) else None

    def _no_part(self, switch: Switch, short: str) -> str | None:
        flow, own = self._flow, switch.function in self._functions
        parameter = switch.origin == "default" or (switch.origin == "argument" and own)
        setting = parameter or switch.origin in ("option", "field", "setting")
        by_name = setting or switch.origin in ("entry", "constant", "attribute")
        named = self._named(switch, short, parameter=parameter)
        # If two calls pass this argument, the metric may depend on only one of them.
        at_call = switch.origin == "argument" or not by_name
        if (by_name and not flow.reads(named)) or (at_call and not flow.reaches(switch.place)):
            return NOT_COMPUTED
        if flow.given(named) if by_name else flow.gives(switch.place):
            return exclusions.TASK
        if by_name:
            if flow.plays("weights", named) and flow.only_rules(named):
                return MEASURES
            if flow.plays("bounded", named):
                return "a bound on the values that are tried"
        fraction = isinstance(switch.value, float) and flow.known and (own or switch.origin != "argument")
        if fraction and not switch.choices and not flow.plays("computed", named):
            return "nothing computes with it"
        if type(switch.value) is int and not switch.choices:
            if flow.plays("repeated", named):
                return exclusions.LENGTH
            if flow.plays("sized", named):
                return "the size of something"
            of_object = switch.origin == "attribute" and switch.place.symbol and self._reads[f".{switch.name}"]
            # A constant that the code reads in several places is probably an enumeration member.
            of_module = (
                switch.origin in ("constant", "entry") and not switch.place.symbol and self._reads[switch.name] == 1
            )
            of_function = parameter and not switch.function[:1].isupper()
            if switch.value < _LEAST or of_function or not (setting or of_object or of_module):
                return "an integer that is not a setting"
        # An epsilon of 0.1 may be an exploration rate, so only smaller values are guards.
        small = isinstance(switch.value, float) and abs(switch.value) < _GUARDS_BELOW
        return "a numerical guard" if small and _GUARDS.intersection(words_of(switch.name)) else None

    def _named(self, switch: Switch, short: str, *, parameter: bool) -> Named:
        if parameter:
            return Named(short, switch.function)
        if switch.origin == "attribute":
            return Named(short, scope=".")
        if switch.origin == "constant":
            return Named(short, scope=f"{switch.place.path}::{switch.place.symbol}" if switch.place.symbol else "")
        return Named(short)

    def _of_place(self, place: Place, measuring: Sequence[Place]) -> str | None:
        if any(measures.meets(place) for measures in measuring):
            return MEASURES
        if any(task.holds(place) for task in self._task_places):
            return exclusions.TASK
        return self._unexecuted(place)

    def _unexecuted(self, place: Place) -> str | None:
        if self._executed is None or not place.path.endswith(".py"):
            return None
        lines = self._executed.get(place.path, frozenset())
        ran = any(line in lines for line in range(place.start_line, place.end_line + 1))
        return None if ran else NOT_RUN
