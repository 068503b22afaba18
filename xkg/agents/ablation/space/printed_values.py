"""Finds the code that computes the printed metric, in addition to code that is protected by name.

For example, given `total += env.get_reward(arm)` and `print(total / n)`, a change to `get_reward` changes how the
method is measured. Names are followed from the printing statements to their assignments, and into the functions called
in the assignments. Arguments are followed only if they are sums or lists that nothing else reads, because other
arguments contain the method's state."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

from xkg.agents.ablation.space.exclusions import bodies, environments, inside, metric_code, trains
from xkg.agents.ablation.space.python_source import Function, PythonSource, last_name
from xkg.agents.ablation.space.reported import FORMATS, reported_names
from xkg.agents.workspace.metric import Metric

_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)


def changed_values(before: Sequence[PythonSource], after: Sequence[PythonSource], metric: Metric) -> tuple[str, ...]:
    """Returns the changed code that computes the metric, as `path::function`."""
    old, new = printed_values(before, metric), printed_values(after, metric)
    old_code, new_code = _code(before), _code(after)
    return tuple(
        name
        for name in {**old, **new}
        if not new_code.issuperset(old.get(name, ())) or not old_code.issuperset(new.get(name, ()))
    )


def _code(sources: Sequence[PythonSource]) -> set[str]:
    return {
        ast.unparse(node)
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, (*_SIMPLE, ast.FunctionDef, ast.AsyncFunctionDef))
    }


def printed_values(sources: Sequence[PythonSource], metric: Metric) -> Mapping[str, Sequence[str]]:
    """Returns the statements and functions that compute the metric, as text without layout, by `path::function`."""
    written, protected, shared = metric_code(sources, metric)
    found: dict[str, list[str]] = defaultdict(list)
    by_path = {source.path: source for source in sources}
    for place in dict.fromkeys([*protected, *shared]):
        source = by_path[place.path]
        nodes = [f for _, f in source.functions if (f.lineno, f.end_lineno) == (place.start_line, place.end_line)]
        for node in nodes[:1]:
            found[f"{place.path}::{source.symbol_at(place.start_line)}"].append(ast.unparse(node))
    printing = {(place.path, place.start_line) for place in written}
    walk = _Walk(sources)
    loops = [node for source in sources for node in ast.walk(source.tree) if isinstance(node, ast.For | ast.While)]
    looped = {id(each) for loop in loops for each in ast.walk(loop)}
    for source in sources:
        for body in bodies(source):
            simple = [each for each in body if isinstance(each, _SIMPLE)]
            once = {id(each) for each in body} - looped
            walk.follow(source, body, [each for each in simple if (source.path, each.lineno) in printing], once)
    for name, texts in walk.found.items():
        found[name] += texts
    return found


class _Walk:
    """Follows names through the code, entering each function once."""

    def __init__(self, sources: Sequence[PythonSource]) -> None:
        self.found: dict[str, list[str]] = defaultdict(list)
        self._entered: set[int] = set()
        self._tasks = environments(sources)[1]
        self._functions: dict[str, list[tuple[PythonSource, Function]]] = defaultdict(list)
        for source in sources:
            for name, function in source.functions:
                self._functions[name.rpartition(".")[2]].append((source, function))

    def follow(
        self, source: PythonSource, body: Sequence[ast.stmt], printing: Sequence[ast.stmt], once: Set[int] = frozenset()
    ) -> None:
        """Finds the code that computes the names reported by `printing`, in the same body and in called functions.
        Updates of a name (`x = x - step`) are followed only in the statements in `once`, since updates in a loop are
        training."""
        names = set[str]().union(*map(reported_names, printing))
        kept = {n for n in _loaded(printing) if _loads(body, n) == _loads(printing, n)}
        called = [name for each in printing for name in _called(each)]
        known = {id(each) for each in printing}
        changed = True
        while changed:
            changed = False
            for statement in body:
                gives = _assigns(statement, names, updates=id(statement) in once)
                gives = gives or _adds_to(statement) in kept or _lists(statement) in kept
                if id(statement) in known or not gives:
                    continue
                known.add(id(statement))
                changed = True
                self._add(source, statement)
                value = statement.value if isinstance(statement, _SIMPLE) else None
                if value is not None:
                    names |= reported_names(ast.Expr(value=value))
                    called += _called(value)
        for name in called:
            for other, function in self._functions.get(name, ()):
                self._enter(other, function)

    def _enter(self, source: PythonSource, function: Function) -> None:
        if id(function) in self._entered:
            return
        self._entered.add(id(function))
        of_task = any(place.holds(source.place(function)) for place in self._tasks)
        if of_task or not trains(function.name):
            self._add(source, function)
            return
        body = list(inside(function))
        returned = [each for each in body if isinstance(each, ast.Return)]
        for each in returned:
            self._add(source, each)
        self.follow(source, body, returned)

    def _add(self, source: PythonSource, node: ast.stmt) -> None:
        symbol = source.symbol_at(node.lineno)
        self.found[f"{source.path}::{symbol}" if symbol else source.path].append(ast.unparse(node))


def _assigns(statement: ast.stmt, names: Set[str], *, updates: bool) -> bool:
    """Whether a statement assigns one of the names. Updates of a name count only if `updates` is set."""
    if not isinstance(statement, ast.Assign):
        return False
    bound = {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name) and n.id in names}
    return bool(bound) and (updates or bound.isdisjoint(_loaded([statement.value])))


def _adds_to(statement: ast.stmt) -> str | None:
    """The name to which a statement adds a value, by `+=` or `.append`."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
            return name
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append", value=ast.Name(id=name)))):
            return name
    return None


def _lists(statement: ast.stmt) -> str | None:
    """The name to which a statement assigns a list comprehension."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp()):
            return name
    return None


def _loaded(nodes: Sequence[ast.AST]) -> Counter[str]:
    return Counter(
        node.id
        for each in nodes
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )


def _loads(body: Sequence[ast.stmt], name: str) -> int:
    """The number of simple statements that read a name, except statements that only add to its value."""
    return sum(name in _loaded([each]) for each in body if isinstance(each, _SIMPLE) and _adds_to(each) != name)


def _called(node: ast.AST) -> Iterator[str]:
    """Yields the functions whose results are the node's value or a part of that value, except functions called in
    arguments."""
    waiting: list[ast.AST] = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, ast.Call) and last_name(here.func) not in FORMATS:
            yield last_name(here.func)
        elif isinstance(here, ast.Call):
            waiting += [*here.args, *(keyword.value for keyword in here.keywords)]
        else:
            waiting += ast.iter_child_nodes(here)
