"""Determines the side effects of top-level statements from their syntax."""

import ast
import re
from functools import lru_cache

from xkg.build.slicing.scoping.bindings import Statement
from xkg.build.slicing.scoping.name_resolution import External

# Matches top-level calls that configure a package.
_SETS_UP = re.compile(
    r"^(set|seed|manual_seed|enable|disable|use|update|register|simplefilter|filterwarnings|switch|allow)"
)
_SEEDS = re.compile(r"^seed|_seed(?:_all)?$")


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        (isinstance(n, ast.Name) and n.id == "TYPE_CHECKING")
        or (isinstance(n, ast.Attribute) and n.attr == "TYPE_CHECKING")
        for n in ast.walk(node.test)
    )


def is_direct(target: External, alias: ast.alias) -> bool:
    """Returns whether an import refers to the external module itself, and not to a repository module that re-exports
    it."""
    return target.attribute == alias.name or (target.attribute is None and alias.name.startswith(target.module))


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


@lru_cache(maxsize=100_000)
def changed_names(statement: Statement) -> frozenset[str]:
    """Returns the names whose values a top-level statement changes without rebinding them, as in `n[k] = …`, `n.a = …`
    and `n.append(…)`."""
    found: set[str] = set()
    stack: list[ast.AST] = [] if statement.is_import else [statement.node]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        root = None
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root = _root(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            root = _root(node.value.func) if isinstance(node.value.func, ast.Attribute) else None
        if root:
            found.add(root)
        stack += ast.iter_child_nodes(node)
    return frozenset(found)


_WRITES = {"append", "update", "add", "setdefault", "insert", "extend", "register"}


@lru_cache(maxsize=100_000)
def names_stored_by_functions(statement: Statement) -> frozenset[str]:
    """Returns the names of the objects that functions in a statement modify, as in `n[k] = …` and `n.append(…)`."""
    if not isinstance(statement.node, ast.FunctionDef | ast.ClassDef):
        return frozenset()
    written: set[str] = set()
    for node in ast.walk(statement.node):
        root = None
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root = _root(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _WRITES:
            root = _root(node.func)
        if root:
            written.add(root)
    return frozenset(written & {use.name for use in statement.uses})


def may_register(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return bool(node.decorator_list)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def is_set_up(node: ast.stmt) -> bool:
    """Returns whether a statement configures a package. Excludes seeds computed from other names, which would pull in
    the command-line parsing behind them."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        if _SEEDS.search(node.value.func.attr) and any(
            isinstance(inner, ast.Name) for argument in node.value.args for inner in ast.walk(argument)
        ):
            return False
        return _SETS_UP.match(node.value.func.attr) is not None
    return isinstance(node, ast.Assign | ast.AugAssign)
