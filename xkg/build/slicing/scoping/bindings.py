"""Finds the names that a statement binds, according to Python's scoping rules (Language Reference, 4.2)."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xkg.sandbox.evidence.python_ast import first_line

Function = ast.FunctionDef | ast.AsyncFunctionDef
ImportNode = ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class Use:
    """An occurrence of a global name in a statement, with the attributes that follow the name. For `m.f.g`, these are
    `f` and `g`.

    `immediate` is True if the name is evaluated when the statement runs, not when a function is called. `enclosing`
    contains the names bound by enclosing functions or the class body. `local` contains the imports in an enclosing
    function if only these bind the name. `text` is the string or f-string that contains the name, or None in plain
    code. `annotates` is True if the name is part of an annotation."""

    name: str
    node: ast.Name
    attributes: tuple[ast.Attribute, ...]
    immediate: bool
    enclosing: frozenset[str]
    local: tuple[tuple[ImportNode, ast.alias], ...] = ()
    text: ast.Constant | ast.JoinedStr | None = None
    annotates: bool = False

    @property
    def line(self) -> int:
        """Returns the line of the file in which the name occurs."""
        return (self.text or self.node).lineno

    @property
    def path(self) -> tuple[str, ...]:
        return (self.name, *(a.attr for a in self.attributes))


@dataclass(eq=False)
class Statement:
    """A top-level statement in a module. `guarded` is True for a statement in `if __name__ == "__main__"`.

    `binds` contains the global names that the statement may bind, and `definite` contains the names that it always
    rebinds. `imports` contains the import statements inside this statement with their scopes. `headings` contains the
    nodes that give a definition a global name."""

    node: ast.stmt
    index: int
    guarded: bool = False
    binds: set[str] = field(default_factory=set)
    definite: set[str] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)
    imports: list[tuple[ImportNode, "Scope"]] = field(default_factory=list)
    headings: list[tuple[str, ast.stmt | ast.ExceptHandler | ast.pattern]] = field(default_factory=list)
    globals_written: set[str] = field(default_factory=set)

    @property
    def first_line(self) -> int:
        return first_line(self.node)

    @property
    def last_line(self) -> int:
        return self.node.end_lineno or self.node.lineno

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def star_imports(self) -> list[str]:
        """Returns the modules imported with `from … import *`."""
        return [imported_module(n) for n, scope in self.imports if n.names[0].name == "*" and scope.kind == "module"]


@dataclass
class Scope:
    """A scope in a program. `imported` maps names to the imports that bind them. `others` maps names to the lines of
    other statements that bind them."""

    kind: str
    others: dict[str, int] = field(default_factory=dict)
    imported: dict[str, list[tuple[ImportNode, ast.alias]]] = field(default_factory=dict)
    declared_global: set[str] = field(default_factory=set)

    def binds(self, name: str) -> bool:
        return name in self.others or name in self.imported


def bound_name(alias: ast.alias) -> str:
    """Returns the name that an import binds, such as `a` for `import a.b`."""
    return alias.asname or alias.name.partition(".")[0]


def imported_module(node: ImportNode) -> str:
    """Returns the module in a `from … import`, with its leading dots."""
    return "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yields the nodes in the scope of a body. Includes inner functions and classes with their decorators, defaults and
    bases, but without their bodies. For comprehensions, includes only walrus targets."""
    stack: list[tuple[ast.AST, bool]] = [(node, False) for node in body]
    while stack:
        node, inside = stack.pop()
        if not inside or isinstance(node, ast.NamedExpr):
            yield node
        if isinstance(node, ast.NamedExpr) and inside:
            yield node.target
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            children: list[ast.AST] = [*node.decorator_list]
            if isinstance(node, ast.ClassDef):
                children += [*node.bases, *node.keywords]
            else:
                children += [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        elif isinstance(node, ast.Lambda):
            children = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        else:
            children = list(ast.iter_child_nodes(node))
        stack += [(child, inside or isinstance(node, _COMPREHENSIONS)) for child in children]


def bind(scope: Scope, body: Iterable[ast.AST], headings: list[tuple[str, ast.AST]] | None = None) -> None:
    for node in _own_nodes(body):
        names: list[str] = []
        if isinstance(node, ast.Name):
            names = [node.id] if isinstance(node.ctx, ast.Store | ast.Del) else []
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            names = [node.name] if node.name else []
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names = [node.rest]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.name != "*":
                    scope.imported.setdefault(bound_name(alias), []).append((node, alias))
        elif isinstance(node, ast.Global):
            scope.declared_global |= set(node.names)
        for name in names:
            line = getattr(node, "lineno", 0)
            scope.others[name] = min(line, scope.others.get(name, line))
            if headings is not None and not isinstance(node, ast.Name):
                headings.append((name, node))
    for name in scope.declared_global:
        scope.others.pop(name, None)
        scope.imported.pop(name, None)


def rebound_names(node: ast.stmt) -> set[str]:
    """Returns names that a statement always rebinds without reading them first."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets: Sequence[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return set()
        flat = [e for t in targets for e in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]
        return {t.id for t in flat if isinstance(t, ast.Name)}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return set(map(bound_name, node.names))
    return set()
