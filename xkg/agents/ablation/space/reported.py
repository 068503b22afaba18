"""Finds values that are only reported, so that changing them affects the measurement but not the method.

For example, a function that both trains and measures (`loss, accuracy = epoch(data)`, both printed) accumulates its
results. If nothing else reads these results, the accumulating statements belong to the metric."""

import ast
from collections.abc import Iterator, Set

from xkg.agents.ablation.space.python_source import Function, last_name

FORMATS = frozenset(
    "print str repr format round float int item write writerow dump dumps append info debug log extend tolist".split()
)
"""Functions that print, store or write a value unchanged."""


_AGGREGATES = frozenset("mean sum average median min max std var array asarray".split())


def only_prints(statement: ast.stmt, functions: Set[str] = FORMATS - {"append", "extend"}) -> bool:
    """Whether a statement only prints or writes values, by calling one of the `functions`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) in functions


def reported_names(statement: ast.stmt) -> set[str]:
    """The names whose values a statement prints or stores directly, unchanged or aggregated."""
    return {node.id for node in _as_it_is(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _as_it_is(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the parts of a node that are returned, printed or stored, except arguments to other functions."""
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


def returned_sums(function: Function) -> Iterator[ast.stmt]:
    """Yields the statements that accumulate a function's return value, provided that nothing else in the function reads
    the value."""
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


def _loaded(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _loaded_itself(statement: ast.stmt) -> set[str]:
    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        waiting += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
    return found
