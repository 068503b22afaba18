"""Finds the code from which the metric's value is computed. This is a backward slice over the executed statements,
starting from the statements that write the metric (M. Weiser, "Program Slicing", ICSE 1981)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from xkg.agents.ablation.candidates import Place
from xkg.agents.ablation.space.facts import Fact, Facts, Node, Role
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.statements import Lines

_LEVELS, _MAIN = 6, ""
_OPTIONS = frozenset({"argparse", "click", "sys", "os"})
"""Libraries whose values are options set by the user, not data."""


class Named(NamedTuple):
    """A reference to variables and attributes with a given name. If `function` is set, refers only to a parameter of
    that function or class. If `scope` is set, refers only to names in that scope. The scope `.` contains all
    attributes. The scope "" contains all module-level names, and all attributes, because other modules refer to these
    names as attributes."""

    name: str
    function: str = ""
    scope: str | None = None

    def has(self, node: Node) -> bool:
        if node[1] != self.name:
            return False
        if self.function:
            return node[0].rpartition("::")[2].removesuffix(".__init__").rpartition(".")[2] == self.function
        return self.scope is None or node[0] in ((_MAIN, ".") if self.scope == _MAIN else (self.scope,))


class Flow:
    """The data flow to the metric. `executed` maps files to the lines that ran, or is None if unknown. `written`
    contains the statements that write the metric. If `broadly` is set, also follows the conditions under which the
    metric is written. `known` is false if no statement that writes the metric reads a computed value."""

    def __init__(
        self,
        sources: Sequence[PythonSource],
        executed: Mapping[str, frozenset[int]] | None,
        written: Sequence[Place],
        *,
        broadly: bool = False,
    ) -> None:
        facts = Facts(sources, executed, written)
        self._facts = facts
        self._by_node: dict[Node, list[Fact]] = defaultdict(list)
        at = {(place.path, place.start_line) for place in written}
        self._written = set[Lines]()
        for fact in facts.all():
            self._by_node[fact.defines].append(fact)
            self._written.update(lines for lines in fact.lines if lines[:2] in at)
        first = {node for uses, where, _ in facts.read if where in at for node in uses}
        first |= facts.under if broadly else set()
        self._writing = {function for _, where, function in facts.read if where in at}
        self._nodes, reached = self._slice(first)
        self._reached, self.known = reached, bool(reached)
        self._lines = _numbers(reached)
        for path, start, end in self._run_for(reached):
            self._lines[path].update(range(start, end + 1))
        self._task_nodes: set[Node] = set()
        given: list[Fact] = []
        for uses, where, _ in facts.read:
            nodes, found = self._reference(uses, where) if where in at and self.known else (set(), [])
            self._task_nodes |= nodes
            given += found
        self._task_lines = _numbers(given)
        # The functions that create the reference also create the data.
        self._task_functions = {name for kind, name in self._task_nodes if kind.startswith("()")}
        self._rulers = _numbers(self._computing(first))
        self._roles = {role: facts.closed(nodes) for role, nodes in facts.roles.items()}
        self._roles["chances"] -= self._roles["divisors"]

    def reaches(self, place: Place) -> bool:
        """Returns whether a statement in `place` assigns a value from which the metric is computed."""
        return not self.known or _meets(self._lines, place)

    def only_measures(self, place: Place) -> bool:
        """Returns whether the values in `place` contribute only to the metric. No attribute, condition, object or
        argument of the repository's own functions may depend on these values."""
        defined = {node for node, found in self._by_node.items() for fact in found if _meets(_numbers([fact]), place)}
        return self.known and defined.isdisjoint(self._useful)

    @cached_property
    def _useful(self) -> set[Node]:
        """Returns the nodes on which anything other than the metric depends."""
        facts = [fact for found in self._by_node.values() for fact in found]
        used = (fact for fact in facts if fact.deep or fact.binds or fact.defines[0] == ".")
        waiting = [node for fact in used for node in fact.uses] + [node for fact in facts for node in fact.control]
        found = set[Node]()
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting += (use for fact in self._by_node.get(node, ()) for use in fact.uses)
        return found

    def reads(self, named: Named) -> bool:
        """Returns whether the metric is computed from one of the variables or attributes in `named`."""
        return not self.known or any(named.has(node) for node in self._nodes)

    def only_rules(self, named: Named) -> bool:
        """Returns whether a value is used only in statements that compute the metric itself, such as a weight in a
        score."""
        holders = {node for fact in self._reached for node in (fact.uses | fact.control) if named.has(node)}
        for _ in range(_LEVELS):
            holders |= {target for target, source in self._facts.copies if source in holders}
        uses = (fact for fact in self._reached if fact.lines and fact.defines not in holders)
        lines = {fact.lines[-1] for fact in uses if not holders.isdisjoint(fact.uses | fact.control)}
        return bool(lines) and all(_meets(self._rulers, Place(path=p, start_line=a, end_line=b)) for p, a, b in lines)

    def _computing(self, first: Iterable[Node]) -> Iterator[Fact]:
        held: dict[Node, list[Node]] = defaultdict(list)
        for target, source in (*self._facts.copies, *self._facts.returned):
            held[target].append(source)
        seen, waiting = set[Node](), [*first]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += held[node]
                if not held[node]:
                    yield from (fact for fact in self._by_node.get(node, ()) if not (fact.effect or fact.binds))

    def gives(self, place: Place) -> bool:
        """Returns whether any statement in `place` produces the metric's reference values or belongs to a function
        that does."""
        return _meets(self._task_lines, place) or place.symbol.rpartition(".")[2] in self._task_functions

    def given(self, named: Named) -> bool:
        """Returns whether the metric's reference values depend on `named`, or are computed by the function of which
        `named` is a parameter."""
        return named.function in self._task_functions or any(named.has(node) for node in self._task_nodes)

    def plays(self, role: Role, named: Named) -> bool:
        """Returns whether a variable or attribute in `named` has this role, or is copied to one that has it."""
        return any(named.has(node) for node in self._roles[role])

    def readers(self, name: str) -> set[str]:
        """Returns the functions that read a variable or attribute with this name. Excludes constructors, because they
        only store the value."""
        scopes = (scope for uses, _, scope in self._facts.read if any(node[1] == name for node in uses))
        return {scope.rpartition("::")[2].rpartition(".")[2] for scope in scopes} - {"__init__"}

    def handed_to(self, functions: Set[str]) -> set[str]:
        """Returns the names that are passed unchanged to one of these functions or classes."""
        copies = self._facts.copies
        return {source[1] for target, source in copies if any(Named(target[1], f).has(target) for f in functions)}

    def _slice(self, first: Iterable[Node], *, values: bool = False) -> tuple[set[Node], list[Fact]]:
        """Returns the nodes from which the `first` nodes are computed, and the facts that connect these nodes. Includes
        a call if two conditions hold. First, the calling function contributes another node, or the callee changes an
        object that other code references. Second, the call's own statement contributes, or the callee writes the metric
        or changes such an object. Without these conditions, one relevant call to a function would include all other
        calls to it. If `values` is set, excludes conditions and effects on objects."""
        seen, waiting, reached = set[Node](), list(first), list[Fact]()
        # Functions that contribute a value; a leading dot marks those that change objects.
        writing = self._callers(self._writing)
        active = {"", *writing, *(f".{each}" for each in writing)}
        lines = set(self._written)
        later: dict[str | Lines, list[Fact]] = defaultdict(list)
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            facts = list(self._by_node.get(node, ()))
            if not facts and node[0].startswith("()["):  # the function does not return a tuple
                waiting.append(("()", node[1]))
            while facts:
                fact = facts.pop()
                callee = f".{fact.defines[0]}"
                asked = (fact.function, callee) if fact.escapes else (fact.function,)
                if fact.effect and values:
                    continue
                if fact.binds and active.isdisjoint(asked):
                    for function in asked:
                        later[function].append(fact)
                    continue
                if fact.binds and lines.isdisjoint(fact.lines[-1:]) and callee not in active:
                    for way in (callee, fact.lines[-1]):
                        later[way].append(fact)
                    continue
                reached.append(fact)
                waiting += fact.uses if values else fact.uses | fact.control
                own = fact.defines[0] == fact.function or fact.defines[0].startswith("()")
                changes = callee in active if fact.binds else not own
                given = {f".{fact.function}"} if changes else set[str]()
                given |= set() if fact.binds else {fact.function}
                for function in given - active:
                    active.add(function)
                    facts += later.pop(function, [])
                for at in fact.lines if not fact.binds else ():
                    if at not in lines:
                        lines.add(at)
                        facts += later.pop(at, [])
        return seen, reached

    def _run_for(self, reached: Iterable[Fact]) -> Iterator[Lines]:
        """Yields calls whose results are unused, but whose functions contribute to these facts, directly or through
        other such calls."""
        waiting = {fact.function for fact in reached if not fact.binds}
        found = set[str]()
        while waiting := waiting - found:
            found |= waiting
            for _, called, lines in self._facts.run:
                if called in waiting:
                    yield lines
            waiting = {caller for caller, called, _ in self._facts.run if called in found}

    def _callers(self, functions: Set[str]) -> set[str]:
        """Returns the given functions, and all functions that call them with arguments, directly or indirectly."""
        found, waiting = set[str](), set(functions)
        while waiting:
            found |= waiting
            binding = (fact for facts in self._by_node.values() for fact in facts if fact.binds)
            waiting = {fact.function for fact in binding if fact.defines[0] in waiting} - found
        return found

    def _reference(self, first: Set[Node], where: tuple[str, int]) -> tuple[set[Node], list[Fact]]:
        """Finds where a statement compares a prediction with a reference, and returns the slice of the reference.
        Considers pairs of values that are compared, subtracted or passed to one function, nearest to the statement
        first. The prediction must depend on all sources of the reference. It must also have more sources than the
        reference, or take at least twice as many steps to compute."""
        tables = (self._facts.compared, self._facts.passed)
        lines = {at for table in tables for at in table if at[:2] == where}
        front, seen = set(first), set(first)
        for _ in range(_LEVELS):
            for table in tables:
                slices = [
                    [self._slice(each, values=True) for each in pair] for at in lines for pair in table.get(at, ())
                ]
                slices = [pair for pair in slices if all(facts for _, facts in pair)]
                both = [(one, other) for pair in slices for one, other in (pair, pair[::-1])]
                if within := [one for one, other in both if self._is_part(one[0], other[0])]:
                    return min(within, key=lambda found: len(found[1]))
            facts = [fact for node in sorted(front) for fact in self._by_node.get(node, ())]
            lines = {at for fact in facts for at in fact.lines}
            front = {use for fact in facts for use in fact.uses} - seen
            seen |= front
        return set(), []

    def _is_part(self, one: Set[Node], other: Set[Node]) -> bool:
        libraries = {name for scope, name in one if scope != "." and (scope, name) not in self._by_node}
        data = bool(libraries - _OPTIONS)  # a value computed without a library that loads data is only a number
        less = 2 * len(one) <= len(other) or not self._sources(other) <= one
        return data and less and self._sources(one) <= other

    def _sources(self, nodes: Set[Node]) -> set[Node]:
        """Returns the nodes that are not computed from other nodes: numbers, and values from a library."""
        return {node for node in nodes if node in self._by_node and not self._computed_from(node)}

    def _computed_from(self, node: Node) -> bool:
        uses = (use for fact in self._by_node[node] if not fact.effect for use in fact.uses)
        return any(use != node and use in self._by_node for use in uses)


def _numbers(facts: Iterable[Fact]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for path, start, end in {lines for fact in facts for lines in fact.lines}:
        found[path].update(range(start, end + 1))
    return found


def _meets(lines: Mapping[str, Set[int]], place: Place) -> bool:
    return not lines.get(place.path, set()).isdisjoint(range(place.start_line, place.end_line + 1))
