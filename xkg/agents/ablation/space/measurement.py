"""Finds the code that computes the printed metric, in addition to code that is protected by name. Also finds values
that are read only to measure results.

For example, if a program contains `total += env.get_reward(arm)` and `print(total / n)`, a change to `get_reward`
changes how the method is measured. Names are followed from the printing statements to their assignments, and into the
functions called in the assignments. Arguments are followed only if they are sums or lists that nothing else reads,
because other arguments contain the method's state.

Some names are read only to measure results, such as a test set's labels or a bandit's true probabilities. An edit that
reads such a name gives the method access to the answer. An edit to the function that assigns such a name changes the
test. Results of training and prediction are excluded, because they belong to the method.

A function that both trains and measures (`loss, accuracy = epoch(data)`, both printed) accumulates its results. If
nothing else reads these results, the accumulating statements belong to the metric."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

from xkg.agents.ablation.space.exclusions import bodies, environments, inside, metric_code, trains
from xkg.agents.ablation.space.python_source import FORMATS, Function, PythonSource, last_name, only_prints
from xkg.agents.workspace.program.metric import Metric

_AGGREGATES = frozenset("mean sum average median min max std var array asarray".split())
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
    """Returns the statements and functions that compute the metric, without layout, by `path::function`."""
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
        """Finds the code that computes the names reported by `printing`. Searches the body and the functions that it
        calls. Follows updates such as `x = x - step` only in `once` (statements outside loops), because updates in a
        loop are training."""
        names = set[str]().union(*map(_reported_names, printing))
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
                    names |= _reported_names(value)
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
    if not isinstance(statement, ast.Assign):
        return False
    bound = {n.id for t in statement.targets for n in ast.walk(t) if isinstance(n, ast.Name) and n.id in names}
    return bool(bound) and (updates or bound.isdisjoint(_loaded([statement.value])))


def _adds_to(statement: ast.stmt) -> str | None:
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
            return name
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append", value=ast.Name(id=name)))):
            return name
    return None


def _lists(statement: ast.stmt) -> str | None:
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
    return sum(name in _loaded([each]) for each in body if isinstance(each, _SIMPLE) and _adds_to(each) != name)


def _called(node: ast.AST) -> Iterator[str]:
    """Yields the functions whose results are the node's value or part of it. Excludes functions called in arguments."""
    waiting: list[ast.AST] = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, ast.Call) and last_name(here.func) not in FORMATS:
            yield last_name(here.func)
        elif isinstance(here, ast.Call):
            waiting += [*here.args, *(keyword.value for keyword in here.keywords)]
        else:
            waiting += ast.iter_child_nodes(here)


_Bodies = Mapping[str, list[tuple[ast.stmt, bool]]]


def leaked(before: Sequence[PythonSource], after: Sequence[PythonSource], metric: Metric) -> dict[str, tuple[str, ...]]:
    """Returns the names that only the measurement read before the change, and that new statements read after it. The
    keys are `path::function`."""
    new = _bodies(after, metric)
    olds = _bodies(before, metric)
    kept = _only_measured_attributes(before, olds, printed_values(before, metric))
    found = {}
    for where in {**olds, **new}:
        old = olds.get(where, [])
        known = {text for statement, _ in old for text in _own(statement)}
        names = _only_measured(old)
        made = set[str]().union(*(_binds(statement) for statement, measures in old if not measures))
        read = {
            name
            for statement, measures in new.get(where, ())
            if not (measures and made.isdisjoint(_binds(statement))) and not known.issuperset(_own(statement))
            for name in _reads([statement])
            if name in names - _binds(statement) or _of_another(name) in kept
        }
        if read:
            found[where] = tuple(sorted(read))
    return found


def changed_sources(before: Sequence[PythonSource], after: Sequence[PythonSource], metric: Metric) -> tuple[str, ...]:
    """Returns the changed functions, as `path::function`, whose results were read only by the measurement."""
    makers: set[str] = set()
    for body in _bodies(before, metric).values():
        names = _only_measured(body)
        makers |= {
            last_name(statement.value.func)
            for statement, _ in body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call) and _binds(statement) & names
        }
    code = {ast.unparse(function) for source in after for _, function in source.functions}
    return tuple(
        f"{source.path}::{name}"
        for source in before
        for name, function in source.functions
        if name.rpartition(".")[2] in makers and ast.unparse(function) not in code
    )


def _bodies(sources: Sequence[PythonSource], metric: Metric) -> _Bodies:
    """Returns the statements in each body, each with a flag that is True if the statement only takes measurements."""
    values = printed_values(sources, metric)
    written = {(place.path, place.start_line) for place in metric_code(sources, metric)[0]}
    found: dict[str, list[tuple[ast.stmt, bool]]] = {}
    for source in sources:
        for body in bodies(source):
            symbol = source.symbol_at(body[0].lineno) if body else ""
            where = f"{source.path}::{symbol}" if symbol else source.path
            texts = values.get(where, ())
            found[where] = [
                (each, (source.path, each.lineno) in written or ast.unparse(each) in texts) for each in body
            ]
    return found


def _only_measured(body: Sequence[tuple[ast.stmt, bool]]) -> set[str]:
    measuring = [statement for statement, measures in body if measures]
    others = [statement for statement, measures in body if not measures and not only_prints(statement)]
    learned = set[str]()
    for each in others:
        if isinstance(each, ast.Assign) and (learned & _reads([each]) or _trains(each.value)):
            learned |= _binds(each)
    return _reads(measuring) - _reads(others) - set[str]().union(*map(_binds, measuring)) - learned


def _only_measured_attributes(
    sources: Sequence[PythonSource], of: _Bodies, values: Mapping[str, Sequence[str]]
) -> set[str]:
    """Returns the attributes that are set once and, outside their own object, are read only by the measurement."""
    read: dict[bool, set[str]] = {True: set(), False: set()}
    for where, body in of.items():
        whole = any(text.startswith("def ") for text in values.get(where, ()))
        read[whole] |= {_of_another(name) for name in _reads([statement for statement, _ in body])}
    nodes = [node for source in sources for node in ast.walk(source.tree)]
    changed = [
        node for node in nodes if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]
    stored = Counter(each.attr for node in changed for each in ast.walk(node) if isinstance(each, ast.Attribute))
    return {name for name in read[True] - read[False] if stored[name] == 1}


def _of_another(name: str) -> str:
    owner, _, attribute = name.rpartition(".")
    return "" if owner in ("", "self") else attribute


def _trains(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and trains(last_name(value.func))


def _own(statement: ast.stmt) -> Iterator[str]:
    yield from (ast.unparse(each) for each in ast.iter_child_nodes(statement) if not isinstance(each, ast.stmt))


def _reads(statements: Sequence[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for statement in statements:
        waiting = [each for each in ast.iter_child_nodes(statement) if not isinstance(each, ast.stmt)]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(ast.unparse(node))
            inside = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.Call):
                inside.remove(node.func)
                inside += ast.iter_child_nodes(node.func)
            waiting += inside
    return found


def _binds(statement: ast.stmt) -> Set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _reported_names(node: ast.AST) -> set[str]:
    """Returns the names whose values a node prints, stores or returns, either unchanged or aggregated."""
    found: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        here = waiting.pop()
        if isinstance(here, ast.Name) and isinstance(here.ctx, ast.Load):
            found.add(here.id)
        elif not isinstance(here, ast.Call):
            waiting += ast.iter_child_nodes(here)
        elif isinstance(here.func, ast.Call):  # matches calls such as `delayed(f)(x)` and `Parallel(n)(… for …)`
            waiting += [here.func, *here.args]
        elif last_name(here.func) in FORMATS | _AGGREGATES:
            waiting += [*here.args, *(keyword.value for keyword in here.keywords)]
            waiting += [here.func.value] if isinstance(here.func, ast.Attribute) else []
    return found


def returned_sums(function: Function) -> Iterator[ast.stmt]:
    """Yields the statements that accumulate a function's return value, if nothing else in the function reads the
    value."""
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    added = {
        s.target.id
        for s in statements
        if isinstance(s, ast.AugAssign) and isinstance(s.op, ast.Add | ast.Sub) and isinstance(s.target, ast.Name)
    }
    returned = {name for s in statements if isinstance(s, ast.Return) for name in _names_loaded(s)}
    nested = {name for node in ast.walk(function) if isinstance(node, Function | ast.Lambda) and node is not function
              for name in _names_loaded(node)}  # fmt: skip
    for name in sorted(added & returned - nested):
        own = [s for s in statements if _sets(s, name)]
        elsewhere = [
            s
            for s in statements
            if not isinstance(s, ast.Return)
            and s not in own
            and name in _itself_names_loaded(s)
            and not only_prints(s, FORMATS)
        ]
        if not elsewhere:
            yield from own


def _sets(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.AugAssign(target=ast.Name(id=target)) | ast.Assign(targets=[ast.Name(id=target)]):
            return target == name
    return False


def _names_loaded(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _itself_names_loaded(statement: ast.stmt) -> set[str]:
    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        waiting += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
    return found
