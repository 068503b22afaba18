"""Finds a composed module's own statements by comparing it with its components.

Comments are ignored, because the module's author may have added them. A statement belongs to a component if the
component contains an equal one. Composition merges imports and renames definitions that occur in two components
(`f__part`), so module-level names are compared without the suffix after `__`."""

import ast
import copy
import re
from collections.abc import Collection, Iterable, Iterator

from xkg.sandbox.evidence.python_ast import first_line, statements_of

_PLAIN_ARGUMENTS = (
    ast.Assign | ast.AnnAssign | ast.Return | ast.Expr | ast.Name | ast.Attribute | ast.Constant | ast.keyword
    | ast.Tuple | ast.List | ast.Starred | ast.expr_context
)  # fmt: skip
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def own_lines(source: str, components: Iterable[str]) -> frozenset[int]:
    """Returns a module's line numbers (from 1), except for statements (functions, methods, constants) that also occur
    in one of `components`. Each component is a complete module. If the module does not parse, returns all its lines."""
    theirs = {text for component in components for _, text in _units(component)}
    lines = set(range(1, source.count("\n") + 2))
    for node, text in _units(source) if theirs else ():
        if text in theirs:
            lines.difference_update(range(first_line(node), (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)


def component_calls(source: str, components: Iterable[str]) -> frozenset[int]:
    """Returns the first lines of statements that only call a function or class from `components`, or a method on an
    instance of such a class. Arguments must be names, attributes or constants. Returns an empty set if the module does
    not parse."""
    theirs = {name for component in components for name in _defined(component)}
    tree = statements_of(source)
    objects = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _calls(node.value, theirs)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return frozenset(
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr)
        and node.value is not None
        and (_calls(node.value, theirs) or _calls_method(node.value, objects))
        and all(isinstance(inner, _PLAIN_ARGUMENTS) for inner in ast.walk(node) if inner is not node.value)
    )


def _calls(node: ast.expr, names: Collection[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _plain(node.func.id) in names


def _calls_method(node: ast.expr, objects: Collection[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            return name in objects
        case _:
            return False


def _defined(component: str) -> frozenset[str]:
    return frozenset(_plain(node.name) for node in statements_of(component).body if isinstance(node, _Definition))


def _units(source: str) -> Iterator[tuple[ast.stmt, str]]:
    """Yields the statements in a module and its classes, each with a normalised text that is the same for equal
    statements. Skips imports."""
    tree = statements_of(source)
    names = _bound(tree)
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        yield statement, _canonical(statement, names)
        if isinstance(statement, ast.ClassDef):
            owner = f"{_plain(statement.name)}({', '.join(_canonical(base, names) for base in statement.bases)})"
            for member in statement.body:
                yield member, f"{owner}: {_canonical(member, names)}"


def _canonical(node: ast.AST, names: frozenset[str]) -> str:
    try:
        bare = copy.deepcopy(node)
        for inner in ast.walk(bare):
            if isinstance(inner, ast.Name) and inner.id in names:
                inner.id = _plain(inner.id)
            elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):  # an annotation, such as "Node"
                inner.value = re.sub(r"\w+", lambda word: _plain(word[0]) if word[0] in names else word[0], inner.value)
            elif isinstance(inner, _Definition):
                inner.name = _plain(inner.name)
        return ast.dump(bare)
    except RecursionError:
        return f"nested too deeply: {id(node)}"


def _bound(tree: ast.Module) -> frozenset[str]:
    """Returns the names bound at the module's top level, including imports."""
    names: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, _Definition):
            names.add(statement.name)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.alias):
                names.add((node.asname or node.name).partition(".")[0])
    return frozenset(names)


def _plain(name: str) -> str:
    added = name.find("__", len(name) - len(name.lstrip("_")))
    return name[:added] if 0 < added < len(name) - 2 else name
