"""Finds names and attributes that are assigned only once. These are constants of the method rather than mutable
state."""

import ast
from collections import Counter
from collections.abc import Iterator

from xkg.agents.ablation.space.python_source import Function
from xkg.agents.ablation.space.statements import own_nodes


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr, str]]:
    """Yields names with their values and classes ('' for names that are not attributes). Includes names that a module
    or function assigns once, and attributes that `__init__` or a class body assigns."""
    yield from _of_scope(tree, tree, "")


def _of_scope(scope: ast.AST, node: ast.AST, owner: str) -> Iterator[tuple[str, ast.expr, str]]:
    counts = _stores(scope)
    for statement in _statements(node):
        if isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                if isinstance(inner, ast.Assign):
                    yield from ((t, v, statement.name) for t, v in _pairs(inner) if isinstance(t, str))
                elif isinstance(inner, Function):
                    yield from _of_scope(inner, inner, statement.name)
        elif isinstance(statement, Function):
            yield from _of_scope(statement, statement, "")
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            initial = isinstance(scope, Function) and scope.name == "__init__" and owner
            for target, value in _pairs(statement):
                name = target.lstrip(".")
                if target.startswith(".") and initial:
                    yield name, value, owner
                elif not target.startswith(".") and counts[name] == 1:
                    yield name, value, ""


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, (*_SCOPES, ast.expr)):
            yield from _statements(child)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _pairs(statement: ast.Assign | ast.AnnAssign) -> Iterator[tuple[str, ast.expr]]:
    """Yields assignment targets with their values. The targets are names, and attributes of `self` (with a leading
    dot)."""
    if statement.value is None:
        return
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        targets, values = [target], [statement.value]
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            targets, values = target.elts, statement.value.elts
        for one, value in zip(targets, values, strict=False):
            match one:
                case ast.Name(id=name):
                    yield name, value
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    yield f".{name}", value


def _stores(scope: ast.AST) -> Counter[str]:
    names = (node for node in own_nodes(scope) if isinstance(node, ast.Name))
    return Counter(node.id for node in names if not isinstance(node.ctx, ast.Load))
