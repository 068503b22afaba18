"""Finds the names that a module's statements bind and use, according to Python's scoping rules (Language Reference,
4.2). Uses Python's own syntax tree, without running code, so the results are exact for this Python version."""

import ast
from dataclasses import dataclass
from functools import lru_cache

from xkg.build.code.languages.python import parse_ast
from xkg.build.slicing.scoping.bindings import Statement
from xkg.build.slicing.scoping.uses import NameVisitor
from xkg.sandbox.evidence.python_ast import is_main_guard


@dataclass(frozen=True)
class ModuleScope:
    statements: tuple[Statement, ...]
    bindings: dict[str, tuple[int, ...]]
    future: tuple[str, ...]
    exported: tuple[str, ...] | None
    identifiers: frozenset[str]

    @property
    def globals_written(self) -> set[str]:
        return {name for statement in self.statements for name in statement.globals_written}


@lru_cache(maxsize=1024)
def module_scope(text: str) -> ModuleScope | None:
    """Returns the scope of a module's text, or None if this Python cannot parse it. Raises `RecursionError` if the code
    is nested too deeply."""
    tree = parse_ast(text)
    if tree is None:
        return None
    future = tuple(
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    )
    statements: list[Statement] = []
    for node in tree.body:
        guarded = is_main_guard(node) and isinstance(node, ast.If) and not node.orelse
        for inner in node.body if guarded and isinstance(node, ast.If) else [node]:
            statement = Statement(inner, len(statements), guarded)
            NameVisitor(statement, lazy_annotations="annotations" in future).run()
            statements.append(statement)
    bindings: dict[str, list[int]] = {}
    for statement in statements:
        for name in statement.binds:
            bindings.setdefault(name, []).append(statement.index)
    identifiers = set(bindings)
    for inside in ast.walk(tree):
        if isinstance(inside, ast.Name):
            identifiers.add(inside.id)
        elif isinstance(inside, ast.arg):
            identifiers.add(inside.arg)
    return ModuleScope(
        tuple(statements), {n: tuple(i) for n, i in bindings.items()}, future, _exported(tree), frozenset(identifiers)
    )


def _exported(tree: ast.Module) -> tuple[str, ...] | None:
    """Returns the literal `__all__`, including later additions, or None if it is missing or computed."""
    names: list[str] | None = None
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and target.id == "__all__":
            if not isinstance(value, ast.List | ast.Tuple):
                return None
            found = [e.value for e in value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            names = found if not isinstance(node, ast.AugAssign) else [*(names or []), *found]
    return None if names is None else tuple(names)
