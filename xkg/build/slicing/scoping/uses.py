"""Finds the global names that a statement uses, according to Python's scoping rules (Language Reference, 4.2)."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from xkg.build.slicing.scoping.bindings import Function, ImportNode, Scope, Statement, Use, bind, rebound_names
from xkg.sandbox.evidence.python_ast import expression_tree


class NameVisitor:
    """Walks a top-level statement with a stack of scopes, recording the names that it binds and uses."""

    def __init__(self, statement: Statement, *, lazy_annotations: bool) -> None:
        self.statement = statement
        self.lazy_annotations = lazy_annotations
        self.scopes: list[Scope] = [Scope("module")]
        self.depth = 0  # the number of enclosing functions
        self.rebinds = False  # True if the statement contains `nonlocal`
        self.annotating = False
        self.text: ast.Constant | ast.JoinedStr | None = None

    def run(self) -> None:
        node = self.statement.node
        headings: list[tuple[str, ast.AST]] = []
        bind(self.scopes[0], [node], headings)
        self.statement.binds = set(self.scopes[0].others) | set(self.scopes[0].imported)
        self.statement.definite = rebound_names(node)
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
            Use(node.id, node, attributes, self.depth == 0, frozenset(enclosing), local, self.text, self.annotating)
        )

    def owner(self, node: ast.Name) -> Scope:
        """Returns the scope that a name belongs to. In a class body, a name belongs to the class only after the line
        that binds it."""
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
        bind(scope, body)
        # a name rebound by an inner function is not bound by imports alone
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
        bind(scope, node.body)
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
        # a walrus target in a comprehension belongs to the enclosing function
        outer = self.scopes
        while len(self.scopes) > 1 and self.scopes[-1].kind == "comprehension":
            self.scopes = self.scopes[:-1]
        self.visit(node.target)
        self.scopes = outer
        self.visit(node.value)

    # imports, declarations, strings

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

    def annotation(self, node: ast.expr | None) -> None:
        """Visits an annotation and its quoted types. Annotations count as evaluated immediately, unless the module
        makes them lazy."""
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
            was, self.annotating = self.annotating, True
            self.depth += 1
            self.visit(expression)
            self.depth -= 1
            self.annotating, self.text = was, outer


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [argument for argument in every if argument is not None]


def _annotation_strings(node: ast.expr) -> Iterator[ast.Constant]:
    """Yields the quoted types in an annotation. Excludes the strings in Literal and the metadata in Annotated."""
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
