"""Values that are reported and used for nothing else: a change of them moves the ruler and leaves the method as it is.

A function that trains and measures at once (`loss, accuracy = epoch(data)`, both printed) has statements that add up
what it returns; where nothing else reads them, they belong to the metric."""

import ast
from collections.abc import Iterator, Sequence, Set

from xkg.agents.ablation.space.python_source import Function, PythonSource, last_name

FORMATS = frozenset(
    "print str repr format round float int item write writerow dump dumps append info debug log extend tolist".split()
)
"""Functions that print, store or write a value as it is."""


def reported_names(statement: ast.stmt) -> set[str]:
    """The names whose value a statement prints or stores as it is, not by way of another function."""
    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Call):
            if last_name(node.func) in FORMATS:
                waiting += [*node.args, *(keyword.value for keyword in node.keywords)]
                waiting += [node.func.value] if isinstance(node.func, ast.Attribute) else []
        else:
            waiting += ast.iter_child_nodes(node)
    return found


def returned_to(body: Sequence[ast.stmt], names: Set[str]) -> set[str]:
    """The functions whose result these statements give one of the names."""
    return {
        last_name(statement.value.func)
        for statement in body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
        if names & {node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)}
    } - {""}


def only_reported(sources: Sequence[PythonSource], functions: Set[str]) -> Iterator[tuple[PythonSource, ast.stmt]]:
    """The statements of these functions that add up a value which they return, and which nothing else reads. None of a
    function that is handed on (`grad(loss)`), or whose result is trained on (`.backward`)."""
    trained = _trained_on(sources) | _handed_on(sources)
    for source in sources:
        for name, function in source.functions:
            if name.rpartition(".")[2] in functions - trained:
                yield from ((source, statement) for statement in _sums(function))


def _sums(function: Function) -> Iterator[ast.stmt]:
    statements = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    added = {s.target.id for s in statements if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name)}
    returned = {name for s in statements if isinstance(s, ast.Return) for name in _loaded(s)}
    nested = {name for node in ast.walk(function) if isinstance(node, Function | ast.Lambda) and node is not function
              for name in _loaded(node)}  # fmt: skip
    for name in sorted(added & returned - nested):
        own = [s for s in statements if _sets(s, name)]
        elsewhere = [
            s
            for s in statements
            if not isinstance(s, ast.Return) and s not in own and name in _loaded_itself(s) and not _prints(s)
        ]
        if not elsewhere:
            yield from own


def _sets(statement: ast.stmt, name: str) -> bool:
    """Whether a statement gives this name alone a value."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=target)) | ast.Assign(targets=[ast.Name(id=target)]):
            return target == name
    return False


def _prints(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) in FORMATS


def _trained_on(sources: Sequence[PythonSource]) -> set[str]:
    """The functions whose result has `.backward` called."""
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
    """The names of functions that are used without being called."""
    found: set[str] = set()
    for source in sources:
        called = {id(node.func) for node in ast.walk(source.tree) if isinstance(node, ast.Call)}
        for node in ast.walk(source.tree):
            if id(node) not in called and isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
                found.add(last_name(node))
    return found


def _loaded(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _loaded_itself(statement: ast.stmt) -> set[str]:
    """The names that a statement reads, those of the statements inside of it not included."""
    found: set[str] = set()
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        waiting += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
    return found
