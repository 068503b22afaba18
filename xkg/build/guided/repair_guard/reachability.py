"""The statements of a program that can run: not those after a `return` or under `if False`. Statements whose
exceptions are caught are marked."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

Function = ast.FunctionDef | ast.AsyncFunctionDef

_FORGIVING = frozenset("Exception BaseException AssertionError".split())
_END = frozenset("exit quit _exit abort".split())


@dataclass(frozen=True)
class Around:
    """The context of a statement: the source of the `conditions` under which it runs; whether an exception in it is
    `forgiven`; its `function`, '' for the module, called through `depth` others."""

    conditions: tuple[str, ...] = ()
    forgiven: bool = False
    function: str = ""
    depth: int = 0


def reachable(body: Sequence[ast.stmt], around: Around = Around()) -> Iterator[tuple[ast.stmt, Around]]:
    """The statements that can run, in order, each before those inside it, without the bodies of functions."""
    for statement in body:
        yield statement, around
        yield from _inside(statement, around)
        if ends(statement):
            return


def _inside(statement: ast.stmt, around: Around) -> Iterator[tuple[ast.stmt, Around]]:
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            truth = constant_truth(test)
            if truth is not False:
                yield from reachable(body, around if truth else _under(test, around))
            if truth is not True:
                yield from reachable(orelse, around if truth is False else _under(test, around, "not "))
        case ast.While(test=test, body=body, orelse=orelse):
            truth = constant_truth(test)
            if truth is not False:
                yield from reachable(body, around if truth else _under(test, around))
            yield from reachable(orelse, around)
        case ast.For(iter=over, body=body, orelse=orelse) | ast.AsyncFor(iter=over, body=body, orelse=orelse):
            if not _is_empty(over):
                yield from reachable(body, around)
            yield from reachable(orelse, around)
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            calls = [ast.unparse(item.context_expr).rpartition("(")[0] or "" for item in items]
            forgives = any(forgives_errors(item.context_expr) for item in items) or "suppress" in "".join(calls)
            yield from reachable(body, replace(around, forgiven=True) if forgives else around)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
            forgiven = replace(around, forgiven=True) if any(forgives_all(h) for h in handlers) else around
            if any(isinstance(s, ast.Return | ast.Break | ast.Continue) for s in finalbody):
                forgiven = replace(around, forgiven=True)
            yield from reachable(body, forgiven)
            for handler in handlers:
                yield from reachable(handler.body, replace(around, conditions=(*around.conditions, "except")))
            yield from reachable(orelse, around)
            yield from reachable(finalbody, around)
        case ast.Match(subject=subject, cases=cases):
            for case in cases:
                text = f"match {ast.unparse(subject)}"
                yield from reachable(case.body, replace(around, conditions=(*around.conditions, text)))
        case ast.ClassDef(body=body):
            yield from reachable(body, around)
        case _:
            return


def own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement except those of the statements inside it."""
    for value in ast.iter_child_nodes(statement):
        if isinstance(value, ast.expr):
            yield value
        elif isinstance(value, ast.withitem):
            yield value.context_expr


def ends(statement: ast.stmt) -> bool:
    """Whether no later statement of the same block can run."""
    match statement:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return True
        case ast.Expr(value=ast.Call(func=called)):
            return ast.unparse(called).rpartition(".")[2] in _END
        case ast.If(test=test, body=body, orelse=orelse):
            truth = constant_truth(test)
            if truth is not None:
                return any(ends(s) for s in (body if truth else orelse))
            return bool(orelse) and any(ends(s) for s in body) and any(ends(s) for s in orelse)
        case ast.With(body=body) if not any(forgives_errors(item.context_expr) for item in statement.items):
            return any(ends(s) for s in body)
        case _:
            return False


def constant_truth(test: ast.expr) -> bool | None:
    """The constant value of a condition; None where it varies."""
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return bool(elements)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            truth = constant_truth(operand)
            return None if truth is None else not truth
        case ast.BoolOp(op=op, values=values):
            truths = [constant_truth(value) for value in values]
            decisive = isinstance(op, ast.Or)
            if decisive in truths:
                return decisive
            return None if None in truths else not decisive
        case ast.Compare(left=ast.Name(id="__name__"), ops=[op], comparators=[ast.Constant(value=name)]):
            equal = name == "__main__"
            return equal if isinstance(op, ast.Eq) else not equal if isinstance(op, ast.NotEq) else None
        case ast.Compare(left=left, ops=[op], comparators=[right]) if _same(left, right):
            return {ast.Eq: True, ast.Is: True, ast.LtE: True, ast.GtE: True}.get(type(op), False)
        case ast.Compare(left=ast.Constant(value=a), ops=[op], comparators=[ast.Constant(value=b)]):
            return _compared(a, type(op), b)
        case ast.Name(id="TYPE_CHECKING"):
            return False
        case ast.Name(id="__debug__"):
            return True
        case _:
            return None


def _same(left: ast.expr, right: ast.expr) -> bool:
    return not isinstance(left, ast.Constant) and ast.dump(left) == ast.dump(right)


def _compared(a: object, op: type[ast.cmpop], b: object) -> bool | None:
    if op in (ast.Eq, ast.NotEq):
        return (a == b) is (op is ast.Eq)
    if op in (ast.Is, ast.IsNot):
        return (a is b or a == b) is (op is ast.Is)
    if not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
        return None
    return {ast.Lt: a < b, ast.LtE: a <= b, ast.Gt: a > b, ast.GtE: a >= b}.get(op)


def forgives_all(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches every exception, including failed assertions, and does not raise again."""
    if any(isinstance(node, ast.Raise) for node in ast.walk(handler)):
        return False
    return handler.type is None or not _FORGIVING.isdisjoint(_names(handler.type))


def forgives_errors(context: ast.expr) -> bool:
    """Whether a `with` catches failed assertions: `suppress(…)`, `pytest.raises(AssertionError)` and the like."""
    if not isinstance(context, ast.Call):
        return False
    called = ast.unparse(context.func).rpartition(".")[2]
    if called == "suppress":
        return True
    caught = {name for argument in context.args for name in _names(argument)}
    return called in ("raises", "assertRaises") and not _FORGIVING.isdisjoint(caught)


def _names(node: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)
    }


def _is_empty(over: ast.expr) -> bool:
    match over:
        case ast.Tuple(elts=[]) | ast.List(elts=[]) | ast.Constant(value="") | ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(n))]):
            return n <= 0
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(a)), ast.Constant(value=int(b))]):
            return b <= a
        case ast.Call(func=ast.Name(id="enumerate" | "zip" | "list" | "reversed" | "iter"), args=[inner, *_]):
            return _is_empty(inner)
        case ast.Call(func=ast.Name(id="list" | "tuple" | "dict" | "set" | "iter"), args=[]):
            return True
        case ast.Subscript(slice=ast.Slice(upper=ast.Constant(value=0))):
            return True
        case _:
            return False


def _under(test: ast.expr, around: Around, sign: str = "") -> Around:
    return replace(around, conditions=(*around.conditions, sign + ast.unparse(test)))
