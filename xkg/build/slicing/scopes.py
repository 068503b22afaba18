"""The names that a module's statements bind and use, by Python's scoping rules (Language Reference, 4.2).

It works on Python's own syntax tree, so it is exact where the repository is written for this Python; nothing is run.
"""

import ast
import typing
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from xkg.build.code.python import parse_ast
from xkg.sandbox.evidence.python_ast import expression_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef
ImportNode = ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class Use:
    """An occurrence of a global name in a statement, with the attributes read from it (`m.f.g` has attributes f and g).
    `immediate`: evaluated when the statement runs, not when a function is called. `enclosing` are the names bound by
    enclosing functions or the class body. `local` holds the imports, where the name is bound only by import statements
    of an enclosing function. `text` is the string or f-string that contains it, None in plain code."""

    name: str
    node: ast.Name
    attributes: tuple[ast.Attribute, ...]
    immediate: bool
    enclosing: frozenset[str]
    local: tuple[tuple[ImportNode, ast.alias], ...] = ()
    text: ast.Constant | ast.JoinedStr | None = None

    @property
    def path(self) -> tuple[str, ...]:
        return (self.name, *(a.attr for a in self.attributes))


@dataclass(eq=False)
class Statement:
    """A top-level statement of a module (`guarded` if it is in `if __name__ == "__main__"`).

    `binds` are the global names that running it binds; `definite` those that it always rebinds. `imports` are its
    import statements with the scope they bind in; `headings` the definitions whose own name is global."""

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
        decorators: list[ast.expr] = getattr(self.node, "decorator_list", [])
        return min([self.node.lineno, *(d.lineno for d in decorators)])

    @property
    def last_line(self) -> int:
        return self.node.end_lineno or self.node.lineno

    @property
    def is_import(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    @property
    def star_imports(self) -> list[str]:
        """The modules of its `from … import *`."""
        return [imported_module(n) for n, scope in self.imports if n.names[0].name == "*" and scope.kind == "module"]


@dataclass
class Scope:
    """`imported` maps names to the imports that bind them; `others` are bound by other statements, with their lines."""

    kind: str
    others: dict[str, int] = field(default_factory=dict)
    imported: dict[str, list[tuple[ImportNode, ast.alias]]] = field(default_factory=dict)
    declared_global: set[str] = field(default_factory=set)

    def binds(self, name: str) -> bool:
        return name in self.others or name in self.imported


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


def bound_name(alias: ast.alias) -> str:
    """The name that an import binds: `a` for `import a.b`."""
    return alias.asname or alias.name.partition(".")[0]


def imported_module(node: ImportNode) -> str:
    """The module of a `from … import`, with its leading dots."""
    return "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""


@lru_cache(maxsize=1024)
def module_scope(text: str) -> ModuleScope | None:
    """The scope of a module's text, None where this Python cannot parse it. Raises `RecursionError` for code that is
    nested too deeply."""
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
        guarded = _is_main_guard(node)
        for inner in node.body if guarded and isinstance(node, ast.If) else [node]:
            statement = Statement(inner, len(statements), guarded)
            _Visitor(statement, lazy_annotations="annotations" in future).run()
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


def _is_main_guard(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or node.orelse or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    return any(isinstance(s, ast.Name) and s.id == "__name__" for s in sides) and any(
        isinstance(s, ast.Constant) and s.value == "__main__" for s in sides
    )


def _exported(tree: ast.Module) -> tuple[str, ...] | None:
    """The literal `__all__` with later additions; None where there is none or it is computed."""
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


# --- binding ----------------------------------------------------------------------------------------------------------

_TYPING = frozenset(typing.__all__) - {"Literal", "Annotated"}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes that belong to the scope of a body: inner functions and classes with their decorators, defaults and bases,
    but not their bodies; of comprehensions only walrus targets."""
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


def _bind(scope: Scope, body: Iterable[ast.AST], headings: list[tuple[str, ast.AST]] | None = None) -> None:
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


def _definitely(node: ast.stmt) -> set[str]:
    """Names that a statement always rebinds without reading them first."""
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


# --- using ------------------------------------------------------------------------------------------------------------


class _Visitor:
    """Walks one top-level statement with a stack of scopes, and records the names it binds and uses."""

    def __init__(self, statement: Statement, *, lazy_annotations: bool) -> None:
        self.statement = statement
        self.lazy_annotations = lazy_annotations
        self.scopes: list[Scope] = [Scope("module")]
        self.depth = 0  # enclosing functions
        self.rebinds = False  # whether there is any `nonlocal`
        self.annotating = False
        self.text: ast.Constant | ast.JoinedStr | None = None

    def run(self) -> None:
        node = self.statement.node
        headings: list[tuple[str, ast.AST]] = []
        _bind(self.scopes[0], [node], headings)
        self.statement.binds = set(self.scopes[0].others) | set(self.scopes[0].imported)
        self.statement.definite = _definitely(node)
        self.statement.headings = headings  # type: ignore[assignment]
        self.rebinds = any(isinstance(n, ast.Nonlocal) for n in ast.walk(node))
        self.visit(node)

    def visit(self, node: ast.AST) -> None:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is not None:
            method(node)
        else:
            for child in ast.iter_child_nodes(node):
                self.visit(child)

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    # names and attribute chains

    def visit_Name(self, node: ast.Name) -> None:
        self.use(node, ())

    def visit_Attribute(self, node: ast.Attribute) -> None:
        chain = [node]
        base: ast.expr = node.value
        while isinstance(base, ast.Attribute):
            chain.append(base)
            base = base.value
        if isinstance(base, ast.Name):
            self.use(base, tuple(reversed(chain)))
        else:
            self.visit(base)

    def use(self, node: ast.Name, attributes: tuple[ast.Attribute, ...]) -> None:
        scope = self.owner(node)
        local: tuple[tuple[ImportNode, ast.alias], ...] = ()
        if scope.kind != "module":
            if scope.kind != "function" or node.id in scope.others or not isinstance(node.ctx, ast.Load):
                return
            local = tuple(scope.imported[node.id])
        elif len(self.scopes) > 1 and not isinstance(node.ctx, ast.Load) and self.depth:
            self.statement.globals_written.add(node.id)
        enclosing = {n for s in self.scopes[1:] if s.kind != "class" or s is self.scopes[-1] for n in s.others}
        enclosing |= {n for s in self.scopes[1:] for n in s.imported}
        self.statement.uses.append(
            Use(node.id, node, attributes, self.depth == 0, frozenset(enclosing), local, self.text)
        )

    def owner(self, node: ast.Name) -> Scope:
        """The scope that a name belongs to. In a class body, a name belongs to the class after the line that binds
        it."""
        for scope in reversed(self.scopes[1:]):
            if scope.kind == "class" and scope is not self.scopes[-1]:
                continue
            if node.id in scope.declared_global:
                return self.scopes[0]
            if scope.kind == "class":
                line = scope.others.get(node.id)
                bound = node.id in scope.imported or (line is not None and line < node.lineno)
                if bound or (line is not None and not isinstance(node.ctx, ast.Load)):
                    return scope
            elif scope.binds(node.id):
                return scope
        return self.scopes[0]

    # scopes

    def visit_FunctionDef(self, node: Function) -> None:
        self.visit_all(node.decorator_list)
        self.visit_signature(node.args, node.returns)
        self.inside_function(node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_signature(node.args, None)
        self.inside_function(node.args, [node.body])

    def visit_signature(self, arguments: ast.arguments, returns: ast.expr | None) -> None:
        self.visit_all([*arguments.defaults, *arguments.kw_defaults])
        for annotation in [*(a.annotation for a in _parameters(arguments)), returns]:
            self.annotation(annotation)

    def inside_function(self, arguments: ast.arguments, body: Sequence[ast.AST]) -> None:
        scope = Scope("function", {a.arg: a.lineno for a in _parameters(arguments)})
        _bind(scope, body)
        # A name that an inner function rebinds is not only imported.
        for node in (n for inner in body for n in ast.walk(inner)) if self.rebinds else ():
            if isinstance(node, ast.Nonlocal):
                scope.others |= {n: node.lineno for n in node.names if n in scope.imported}
        self.scopes.append(scope)
        self.depth += 1
        self.visit_all(body)
        self.depth -= 1
        self.scopes.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_all([*node.decorator_list, *node.bases, *(k.value for k in node.keywords)])
        scope = Scope("class")
        _bind(scope, node.body)
        self.scopes.append(scope)
        self.visit_all(node.body)
        self.scopes.pop()

    def visit_comprehension_of(self, node: ast.AST) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        self.visit(generators[0].iter)
        scope = Scope("comprehension")
        for generator in generators:
            for target in ast.walk(generator.target):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    scope.others[target.id] = target.lineno
        self.scopes.append(scope)
        for i, generator in enumerate(generators):
            self.visit(generator.target)
            self.visit_all([*([] if i == 0 else [generator.iter]), *generator.ifs])
        self.visit_all([getattr(node, part, None) for part in ("elt", "key", "value")])
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_of

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        # In a comprehension the target belongs to the enclosing function.
        outer = self.scopes
        while len(self.scopes) > 1 and self.scopes[-1].kind == "comprehension":
            self.scopes = self.scopes[:-1]
        self.visit(node.target)
        self.scopes = outer
        self.visit(node.value)

    # imports, declarations, texts

    def visit_Import(self, node: ImportNode) -> None:
        self.statement.imports.append((node, self.scopes[-1]))

    visit_ImportFrom = visit_Import

    def visit_Global(self, node: ast.Global) -> None:
        self.statement.headings += [(name, node) for name in node.names]

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        outer, self.text = self.text, self.text or node
        self.visit_all(node.values)
        self.text = outer

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        self.annotation(node.annotation)
        self.visit_all([node.value])

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit_all([node.value, node.slice])
        name = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        if name in _TYPING and not self.annotating:  # an alias: `Env = Union["Wrapper", Environment]`
            self.annotation_strings(node)

    def annotation(self, node: ast.expr | None) -> None:
        """Visits an annotation, which is evaluated at once unless the module makes them lazy, and its quoted types."""
        if node is None:
            return
        self.depth += self.lazy_annotations
        outer, self.annotating = self.annotating, True
        self.visit(node)
        self.annotating = outer
        self.annotation_strings(node)
        self.depth -= self.lazy_annotations

    def annotation_strings(self, node: ast.expr) -> None:
        for text in _annotation_strings(node):
            try:
                expression = expression_tree(str(text.value).strip())
            except (SyntaxError, ValueError):
                continue
            outer, self.text = self.text, text
            self.depth += 1
            self.visit(expression)
            self.depth -= 1
            self.text = outer


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [argument for argument in every if argument is not None]


def _annotation_strings(node: ast.expr) -> Iterator[ast.Constant]:
    """The quoted types in an annotation: not the strings of Literal, nor Annotated's metadata."""
    stack: list[ast.AST] = [node]
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and len(inner.value) < 1000:
            yield inner
        elif isinstance(inner, ast.Subscript):
            name = inner.value.attr if isinstance(inner.value, ast.Attribute) else getattr(inner.value, "id", "")
            if name == "Annotated" and isinstance(inner.slice, ast.Tuple) and inner.slice.elts:
                stack.append(inner.slice.elts[0])
            elif name != "Literal":
                stack.append(inner.slice)
        elif not isinstance(inner, ast.Call):
            stack += ast.iter_child_nodes(inner)
