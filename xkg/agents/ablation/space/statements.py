"""Analyses which values a statement assigns, compares and changes."""

import ast
import builtins
from collections.abc import Iterator, Sequence

from xkg.agents.ablation.space.exclusions import SPLIT
from xkg.agents.ablation.space.python_source import Function, factors, last_name, root_name

Lines = tuple[str, int, int]
"""A file, and the first and last line of a simple statement or of a compound statement's header."""


def sorts(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in ("sorted", "sort", "argsort")


def selects(statement: ast.If) -> bool:
    """Returns whether both branches assign the same variable or both return. Such branches are two ways to compute one
    value."""
    ways = [
        {ast.unparse(target) for each in branch if isinstance(each, ast.Assign) for target in each.targets}
        | {"return" for each in branch if isinstance(each, ast.Return)}
        for branch in (statement.body, statement.orelse)
    ]
    return not ways[0].isdisjoint(ways[1])


def operands_of(node: ast.AST) -> list[list[ast.expr]]:
    """Returns the groups of values that a node compares or combines."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return [[left, *others]]
        case ast.BinOp(left=left, op=ast.Sub() | ast.BitAnd(), right=right):
            return [[left, right]]
        case ast.Call(func=called, args=args, keywords=keywords) if not hasattr(builtins, last_name(called)):
            return [args, [keyword.value for keyword in keywords]]
    return []


def ends_of(call: ast.Call) -> list[ast.expr]:
    """Returns the limits of the range that a call draws from or clips to, as in `uniform(low, high)` and `clip(x, low,
    high)`."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    match last_name(call.func):
        case "uniform" | "randint" | "integers":
            return given[:2]
        case "clip" | "clamp":
            return given[1:] if not isinstance(call.func, ast.Attribute) or len(given) > 2 else given
        case "max" | "min":
            inner = [each for each in given if isinstance(each, ast.Call) and last_name(each.func) in ("max", "min")]
            return [each for one in (call, *inner[:1]) for each in one.args if each not in inner] if inner else []
    return []


def weights_of(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yields the factors of terms in sums. For updates (`v = decay * v + rate * step`), yields only the factors of the
    updated value."""
    target = ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    for node in ast.walk(statement) if isinstance(statement, ast.Assign | ast.Return | ast.Expr) else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            terms = [[*factors(term)] for term in (node.left, node.right)]
            again = [term for term in terms if target in map(ast.unparse, term)]
            yield from (each for term in again or terms if len(term) > 1 for each in term)


def leaves(statement: ast.stmt) -> bool:
    """Returns whether a branch of a condition exits the block, as in `if draw > rate: continue`."""
    ends = (ast.Continue, ast.Break, ast.Return, ast.Raise)
    branches = (statement.body, statement.orelse) if isinstance(statement, ast.If) else ()
    return any(isinstance(branch[-1], ends) for branch in branches if branch)


def lines_of(statement: ast.stmt) -> Iterator[int]:
    """Yields the first lines of a statement and of the statements inside it. Yields nothing for a definition, because
    its body runs later."""
    if not isinstance(statement, Function | ast.ClassDef):
        yield statement.lineno
        yield from (each.lineno for each in own_nodes(statement) if isinstance(each, ast.stmt))


def head_of(path: str, statement: ast.stmt) -> Lines:
    body: Sequence[ast.stmt] = getattr(statement, "body", ())
    end = max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or statement.lineno
    return path, statement.lineno, end


def changed_by(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Returns the parameters whose contents a function modifies."""
    found = set()
    for node in own_nodes(function):
        match node:
            case ast.Subscript(ctx=ast.Store(), value=value) | ast.AugAssign(target=value):
                found.add(root_name(value))
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=value))):
                found.add(root_name(value))
    return found


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes in a function, excluding the contents of nested functions and classes."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)


def given_by(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields the targets in a statement with their values. Includes comprehensions and `:=`."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
            yield target, value
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
            yield target, value
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield from ((each.optional_vars, each.context_expr) for each in items if each.optional_vars)
    waiting = [each for each in ast.iter_child_nodes(statement) if not isinstance(each, ast.stmt | ast.excepthandler)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.comprehension):
            yield node.target, node.iter
        elif isinstance(node, ast.NamedExpr):
            yield node.target, node.value
        waiting += ast.iter_child_nodes(node)


def pairs_of(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, int | None]]:
    """Yields each target with its value. If the value must be unpacked, yields the whole value and an index."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value, None
        return
    for i, each in enumerate(target.elts):
        match value:
            case ast.Tuple(elts=values) | ast.List(elts=values) if len(values) == len(target.elts):
                yield each, values[i], None
            case ast.Call(func=called, args=args) if last_name(called) == SPLIT and len(target.elts) == 2 * len(args):
                yield each, args[i // 2], None
            case ast.Call():
                yield each, value, i
            case _:
                yield each, value, None
