"""Values that are only reported: changing them affects the measurement but not the method.

A function that both trains and measures (`loss, accuracy = epoch(data)`, both printed) has statements that add up its
results; if nothing else reads these, they belong to the metric."""

import ast
from collections.abc import Iterator, Sequence, Set

from xkg.agents.ablation.space.python_source import Function, PythonSource, last_name

FORMATS = frozenset(
    "print str repr format round float int item write writerow dump dumps append info debug log extend tolist".split()
)
"""Functions that print, store or write a value unchanged."""


_AGGREGATES = frozenset("mean sum average median min max std var array asarray".split())
_CALLS_FOR_US = frozenset("delayed map imap starmap submit partial remote".split())
"""Functions of joblib, multiprocessing, concurrent.futures, functools and Ray that call their first argument."""


def only_prints(statement: ast.stmt, functions: Set[str] = FORMATS - {"append", "extend"}) -> bool:
    """Whether a statement prints or writes values, by a call of one of the `functions`, and does nothing else."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) in functions


def reported_names(statement: ast.stmt) -> set[str]:
    """The names whose value a statement prints or stores unchanged or as a mean, without another function between."""
    return {node.id for node in _as_it_is(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def reported_functions(
    sources: Sequence[PythonSource], printing: Sequence[tuple[Sequence[ast.stmt], Set[str]]]
) -> set[str]:
    """The functions whose result is reported: those assigned to a name in a body that prints the name, and those whose
    result these return."""
    own: dict[str, list[Function]] = {}
    for source in sources:
        for name, function in source.functions:
            own.setdefault(name.rpartition(".")[2], []).append(function)
    waiting = {name for body, names in printing for name in returned_to(body, names)}
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        for function in own.get(name, ()):
            body = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
            values = [node for node in body if isinstance(node, ast.Return) and node.value]
            names = set().union(*map(reported_names, values))
            waiting |= {*returned_to(body, names), *(last_name(f) for each in values for f in _results(each))} - found
    return found - {""}


def returned_to(body: Sequence[ast.stmt], names: Set[str]) -> set[str]:
    """The functions whose result these statements assign to one of the names, or add to it."""
    found: set[str] = set()
    known: set[str] = set()
    waiting = set(names)
    while waiting:
        known |= waiting
        values = [value for statement in body for value in _given(statement, waiting)]
        found |= {last_name(function) for value in values for function in _results(value)}
        waiting = set[str]().union(*(reported_names(ast.Expr(value=value)) for value in values)) - known
    return found - {""}


def _given(statement: ast.stmt, names: Set[str]) -> Iterator[ast.expr]:
    """The expression that a statement assigns, adds or appends to one of the names."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub(), value=value):
            targets = [target]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=target, attr="append"), args=[value])):
            targets = [target]
        case _:
            return
    if names & {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}:
        yield value


def _results(node: ast.AST) -> Iterator[ast.expr]:
    """The functions whose result is the value of an expression or part of it, as named there."""
    for each in _as_it_is(node):
        if isinstance(each, ast.Call) and last_name(each.func) in _CALLS_FOR_US and each.args:
            yield each.args[0]
        elif isinstance(each, ast.Call):
            yield each.func


def _as_it_is(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that it returns, prints or stores, without the arguments of other functions."""
    waiting: list[ast.AST] = [node]
    while waiting:
        here = waiting.pop()
        yield here
        if not isinstance(here, ast.Call):
            waiting += ast.iter_child_nodes(here)
        elif isinstance(here.func, ast.Call):  # `delayed(f)(x)`, `Parallel(n)(… for …)`
            waiting += [here.func, *here.args]
        elif last_name(here.func) in FORMATS | _AGGREGATES:
            waiting += [*here.args, *(keyword.value for keyword in here.keywords)]
            waiting += [here.func.value] if isinstance(here.func, ast.Attribute) else []


def only_reported(sources: Sequence[PythonSource], functions: Set[str]) -> Iterator[tuple[PythonSource, ast.stmt]]:
    """The statements of these functions that add up a returned value that nothing else reads. Excludes functions that
    are passed on (`grad(loss)`) or whose result is trained on (`.backward`)."""
    trained = _trained_on(sources) | _handed_on(sources)
    for source in sources:
        for name, function in source.functions:
            if name.rpartition(".")[2] in functions - trained:
                yield from ((source, statement) for statement in _sums(function))


def _sums(function: Function) -> Iterator[ast.stmt]:
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    added = {
        s.target.id
        for s in statements
        if isinstance(s, ast.AugAssign) and isinstance(s.op, ast.Add | ast.Sub) and isinstance(s.target, ast.Name)
    }
    returned = {name for s in statements if isinstance(s, ast.Return) for name in _loaded(s)}
    nested = {name for node in ast.walk(function) if isinstance(node, Function | ast.Lambda) and node is not function
              for name in _loaded(node)}  # fmt: skip
    for name in sorted(added & returned - nested):
        own = [s for s in statements if _sets(s, name)]
        elsewhere = [
            s
            for s in statements
            if not isinstance(s, ast.Return)
            and s not in own
            and name in _loaded_itself(s)
            and not only_prints(s, FORMATS)
        ]
        if not elsewhere:
            yield from own


def _sets(statement: ast.stmt, name: str) -> bool:
    """Whether a statement assigns only this name."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=target)) | ast.Assign(targets=[ast.Name(id=target)]):
            return target == name
    return False


def _trained_on(sources: Sequence[PythonSource]) -> set[str]:
    """The functions on whose result `.backward` is called."""
    found: set[str] = set()
    for source in sources:
        for scope in (source.tree, *(function for _, function in source.functions)):
            names = {
                node.value.id
                for node in ast.walk(scope)
                if isinstance(node, ast.Attribute) and node.attr == "backward" and isinstance(node.value, ast.Name)
            }
            if names:
                found |= returned_to([node for node in ast.walk(scope) if isinstance(node, ast.stmt)], names)
    return found


def _handed_on(sources: Sequence[PythonSource]) -> set[str]:
    """The names of functions that are used without a call, or whose result other code uses."""
    found: set[str] = set()
    for source in sources:
        kept = (s for s in ast.walk(source.tree) if isinstance(s, ast.Assign | ast.AugAssign | ast.Return | ast.Expr))
        called = {id(function) for statement in kept for function in _results(statement)}
        for node in ast.walk(source.tree):
            if id(node) not in called and isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(last_name(node))
    return found


def _loaded(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _loaded_itself(statement: ast.stmt) -> set[str]:
    """The names that a statement reads, without those of nested statements."""
    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        waiting += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
    return found
