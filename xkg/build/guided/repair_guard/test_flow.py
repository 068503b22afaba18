"""The functions that a test runs, and the values of its variables."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from xkg.build.guided.repair_guard.reachability import Function, own_expressions
from xkg.sandbox.evidence.python_ast import expression_tree

_LONGEST = 600
# Arguments of these are called later, elsewhere or never, and a failure there may go unnoticed.
_LATER = frozenset("map filter partial Thread Process Timer submit run_in_executor register".split())


def functions_of(tree: ast.Module) -> dict[str, Function]:
    """The functions of a test by name, the last definition of each, without skipped and rebound ones."""
    found: dict[str, Function] = {}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.pop(name, None)
                if not any("skip" in ast.unparse(mark) or "xfail" in ast.unparse(mark) for mark in node.decorator_list):
                    found[name] = node
            case ast.Assign(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Name):
                        found.pop(target.id, None)
            case _:
                continue
    return found


def called_by(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement itself calls, or passes as an argument."""
    for part in own_expressions(statement):
        for node in _at_once(part):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                yield from (name, name.rpartition(".")[2])
                if name.rpartition(".")[2] in _LATER:
                    continue
                for argument in (*node.args, *(k.value for k in node.keywords)):
                    yield from (n.id for n in ast.walk(argument) if isinstance(n, ast.Name))
        if isinstance(statement, (ast.For, ast.Assign)):
            yield from (
                element.id
                for node in ast.walk(part)
                if isinstance(node, (ast.List, ast.Tuple, ast.Dict))
                for element in ast.walk(node)
                if isinstance(element, ast.Name)
            )


def _at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of an expression except those in a `lambda`, which runs later or never."""
    yield node
    if not isinstance(node, ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _at_once(child)


def arguments_of(function: Function) -> list[str]:
    """The names of a function's parameters, without `*` and `**`."""
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def is_generator(function: Function) -> bool:
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    inner = {id(n) for f in ast.walk(function) if isinstance(f, Function) and f is not function for n in ast.walk(f)}
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) and id(n) not in inner for n in ast.walk(function))


class Values:
    """The values of a test's variables, followed from top to bottom, as expressions without variables if known."""

    def __init__(self, outer: "Values | None" = None, without: Iterable[str] = ()) -> None:
        self._known: dict[str, ast.expr | None] = {**(outer._known if outer else {}), **dict.fromkeys(without)}

    def spelt(self, node: ast.expr) -> ast.expr:
        """An expression with variables replaced by their values."""
        copy = expression_tree(ast.unparse(node))
        spelt: ast.expr = _Spelling(self._known).visit(copy)
        return spelt

    def handed(self, function: Function, call: ast.Call) -> "Values":
        """The values at the start of a function for the arguments of this call."""
        defaults = function.args.defaults
        given = (
            dict(zip([a.arg for a in function.args.args][-len(defaults) :], defaults, strict=False)) if defaults else {}
        )
        given |= {name: self.spelt(value) for name, value in zip(arguments_of(function), call.args, strict=False)}
        given |= {k.arg: self.spelt(k.value) for k in call.keywords if k.arg}
        inner = Values(self, arguments_of(function))
        inner._known |= given
        return inner

    def follow(self, statement: ast.stmt) -> None:
        """Updates the values with the bindings of a statement, without those of the statements inside it."""
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name))):
                self._known[name] = None
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value)
            case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                self._bind(target, ast.BinOp(ast.Name(target.id, ast.Load()), op, value))
            case ast.For(target=target, iter=over):
                for element, values in elements(target, over):
                    self._bind(element, ast.Call(ast.Name("next", ast.Load()), [values], []))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                self._known[name] = None  # it may have been put into
            case ast.With(items=items):
                for item in items:
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, item.context_expr)
            case _:
                return

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                spelt = self.spelt(value)
                # A value that grows too long is dropped.
                self._known[name] = spelt if len(ast.unparse(spelt)) <= _LONGEST else None
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                exact = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(targets)
                for i, inner in enumerate(targets):
                    if exact and isinstance(value, (ast.Tuple, ast.List)):
                        self._bind(inner, value.elts[i])
                    else:
                        self._bind(inner, ast.Subscript(value, ast.Constant(i), ast.Load()))
            case ast.Starred(value=inner):
                self._bind(inner, value)
            case ast.Subscript(value=ast.Name(id=name)):
                self._known[name] = None
            case _:
                return


def elements(target: ast.expr, over: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The source of each loop variable: of `a, b` over `zip(x, y)`, `x` and `y`."""
    match target, over:
        case ast.Tuple(elts=[_, inner]), ast.Call(func=ast.Name(id="enumerate"), args=[values, *_]):
            yield from elements(inner, values)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=given) if len(targets) == len(given):
            for inner, values in zip(targets, given, strict=True):
                yield from elements(inner, values)
        case _:
            yield target, over


class _Spelling(ast.NodeTransformer):
    def __init__(self, known: Mapping[str, ast.expr | None]) -> None:
        self._known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._known.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if value is None else expression_tree(ast.unparse(value))


def tainted_names(tree: ast.Module, names: set[str], functions: Mapping[str, Function], *, handed: bool) -> set[str]:
    """The names of a test whose values come from the code under test; with `handed` also those passed to it."""
    tainted = set(names)

    def touches(node: ast.AST) -> bool:
        return any(
            (isinstance(n, ast.Name) and n.id in tainted) or (isinstance(n, ast.Attribute) and n.attr in names)
            for n in ast.walk(node)
        )

    while True:
        before = len(tainted)
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=targets, value=value) if touches(value):
                    tainted |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
                case (
                    ast.AnnAssign(target=target, value=ast.expr() as value)
                    | ast.AugAssign(target=target, value=value)
                    | ast.NamedExpr(target=target, value=value)
                ) if touches(value):
                    tainted |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
                    for element, value in elements(target, over):
                        if touches(value):
                            tainted |= {n.id for n in ast.walk(element) if isinstance(n, ast.Name)}
                case ast.withitem(context_expr=value, optional_vars=ast.expr() as target) if touches(value):
                    tainted |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                case ast.Call(func=called, args=arguments) if touches(called):
                    tainted |= {a.id for a in arguments if isinstance(a, ast.Name) and handed}
                    own = functions.get(called.id) if isinstance(called, ast.Name) else None
                    tainted |= {a.arg for a in own.args.args} if own is not None else set()
                case ast.Call(func=ast.Name(id=name), args=arguments) if name in functions and any(
                    touches(a) for a in arguments
                ):
                    tainted |= {a.arg for a in functions[name].args.args}
                case ast.FunctionDef(name=name) if touches(node):
                    tainted.add(name)
                case _:
                    continue
        if len(tainted) == before:
            return tainted
