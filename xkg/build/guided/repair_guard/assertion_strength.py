"""The strength of an assertion, by its form."""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from xkg.build.guided.repair_guard.reachability import constant_truth
from xkg.sandbox.evidence.mutation import NEGATED

# A float32 that is computed in another order differs by no more; a larger tolerance is loose.
ROUNDING = 1e-5
_TINY = 1e-3


class Strength(IntEnum):
    """`NOTHING` always holds; `PRESENCE`: a value exists, has a type, or differs from another; `RANGE`: a bound, a
    predicate, a shape; `VALUE`: equal or close to the expected value."""

    NOTHING = 0
    PRESENCE = 1
    RANGE = 2
    VALUE = 3


class Judgement(NamedTuple):
    """The strength, the tolerance (None: exact, infinite if unknown), and the bound with its side."""

    strength: Strength
    tolerance: float | None = None
    bound: tuple[str, float] | None = None


CLOSE: Mapping[str, tuple[float, ...]] = {
    # name: default relative and absolute tolerance
    "allclose": (1e-5, 1e-8),
    "isclose": (1e-5, 1e-8),
    "assert_close": (1.3e-6, 1e-5),
    "assert_allclose": (1e-7, 0.0),
    "approx": (1e-6, 1e-12),
    "assert_almost_equal": (0.0, 1.5e-7),
    "assert_array_almost_equal": (0.0, 1.5e-6),
    "assertAlmostEqual": (0.0, 5e-8),
}
EQUAL = frozenset(
    "equal array_equal array_equiv assert_equal assert_array_equal assertEqual assertEquals assertListEqual"
    " assertDictEqual assertSequenceEqual assertTupleEqual assertIs assertIsNone assert_array_max_ulp".split()
)
_RANGED = frozenset(
    "assertLess assertLessEqual assertGreater assertGreaterEqual assertIn assertNotIn assert_array_less".split()
)
_PRESENT = frozenset("isinstance issubclass hasattr callable assertIsInstance assertIsNotNone id type".split())
_TOLERANCES = frozenset("atol rtol abs_tol rel_tol tol eps rel abs delta".split())
_SUMMARIES = frozenset("mean sum max min norm prod std var len trace median any all amax amin argmax argmin".split())
_DESCRIBES = frozenset("shape ndim size dtype device dim len numel itemsize nbytes".split())
_OF_TYPE = frozenset("dtype device __class__ __name__ __doc__ __module__ type".split())


def judged(node: ast.expr) -> Judgement:
    """Strength, tolerance and bound of an expression that is asserted, its variables replaced."""
    truth = constant_truth(node)
    if truth:
        return Judgement(Strength.NOTHING)
    match node:
        case ast.BoolOp(op=op, values=values):
            each = [judged(value) for value in values]
            strength = (min if isinstance(op, ast.Or) else max)(j.strength for j in each)
            return Judgement(strength, _loosest(j.tolerance for j in each))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            strength, tolerance, _ = judged(operand)
            if _calls(operand, "any"):
                return Judgement(Strength.RANGE)
            return Judgement(min(max(strength, Strength.PRESENCE), Strength.RANGE), tolerance)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right)
        case ast.Call(func=called):
            return _called_predicate(node, ast.unparse(called).rpartition(".")[2])
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) | ast.SetComp(elt=element):
            return judged(element)
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            return max(judged(left), judged(right), key=lambda j: j.strength)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return min(judged(left), judged(right), key=lambda j: j.strength)
        case ast.IfExp(body=body, orelse=orelse):
            return min(judged(body), judged(orelse), key=lambda j: j.strength)
        case ast.NamedExpr(value=value):
            return judged(value)
        case _:
            return Judgement(Strength.PRESENCE)


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Judgement:
    if ast.dump(left) == ast.dump(right):
        return Judgement(Strength.NOTHING)
    if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        low, high = (left, right) if isinstance(op, (ast.Lt, ast.LtE)) else (right, left)
        limit = number(high)
        if limit is not None and _is_distance(low):
            return Judgement(Strength.VALUE, limit)
        if limit is not None and limit <= _TINY and _calls(low, "abs", "norm", "absolute", "fabs"):
            return Judgement(Strength.VALUE, limit)
        if limit is None and _is_distance(low) and not _is_distance(high):
            return Judgement(Strength.VALUE, _relative(high))
        if limit is not None:
            return Judgement(Strength.RANGE, None, ("<", limit))
        least = number(low)
        if least is None:
            return Judgement(Strength.RANGE)
        counts = _describes(high) or _calls(high, "abs", "norm")
        # No length and no distance is negative.
        trivial = counts and (least < 0 or (least == 0 and isinstance(op, (ast.LtE, ast.GtE))))
        positive = counts and least == 0
        strength = Strength.NOTHING if trivial else Strength.PRESENCE if positive else Strength.RANGE
        return Judgement(strength, None, (">", least))
    if isinstance(op, (ast.NotEq, ast.IsNot)):
        return Judgement(Strength.PRESENCE)
    if isinstance(op, (ast.In, ast.NotIn)):
        return Judgement(Strength.RANGE)
    tolerance = None
    for side in (left, right):
        if isinstance(side, ast.Call) and ast.unparse(side.func).rpartition(".")[2] == "approx":
            tolerance = _tolerance(side, "approx")
        tolerance = _loosest((tolerance, _rounded(side)))
    if any(_is_type(side) for side in (left, right)):
        return Judgement(Strength.PRESENCE, tolerance)
    if isinstance(right, ast.Constant) and isinstance(right.value, bool):
        strength, inner, bound = judged(left)
        return Judgement(strength, inner, bound)
    return Judgement(Strength.RANGE if _describes(left) or _describes(right) else Strength.VALUE, tolerance)


def _called_predicate(node: ast.Call, name: str) -> Judgement:
    arguments = node.args
    same = len(arguments) >= 2 and ast.dump(arguments[0]) == ast.dump(arguments[1])
    if name in CLOSE:
        tolerance = _loosest((_tolerance(node, name), *(_rounded(a) for a in arguments[:2])))
        return Judgement(Strength.NOTHING if same else Strength.VALUE, tolerance)
    if name in EQUAL:
        if same:
            return Judgement(Strength.NOTHING)
        described = any(_describes(a) for a in arguments)
        return Judgement(Strength.RANGE if described else Strength.VALUE)
    if name in ("all", "assertTrue", "bool", "item", "assert_", "any", "sum"):
        inner = arguments[0] if arguments else node.func.value if isinstance(node.func, ast.Attribute) else None
        if inner is None:
            return Judgement(Strength.PRESENCE)
        strength, tolerance, bound = judged(inner)
        if name in ("any", "sum"):
            strength = min(strength, Strength.PRESENCE)
        elif name == "all" and strength is Strength.PRESENCE:
            strength = Strength.RANGE
        return Judgement(strength, tolerance, bound)
    if name in _PRESENT:
        return Judgement(Strength.PRESENCE)
    return Judgement(Strength.RANGE)


def _tolerance(node: ast.Call, name: str) -> float | None:
    defaults = CLOSE[name]
    given: dict[str, ast.expr] = {k.arg: k.value for k in node.keywords if k.arg}
    if name in ("assert_almost_equal", "assert_array_almost_equal", "assertAlmostEqual"):
        places = given.get("decimal") or given.get("places") or (node.args[2] if len(node.args) > 2 else None)
        if "delta" in given:
            return _or_infinite(number(given["delta"]))
        digits = None if places is None else number(places)
        return max(defaults) if places is None else _or_infinite(None if digits is None else 1.5 * 10.0**-digits)
    position = 1 if name == "approx" else 2
    keys = [key for key in given if key in _TOLERANCES]
    explicit = [given[key] for key in keys] + list(node.args[position : position + 2])
    return max(defaults) if not explicit else max(_or_infinite(number(value)) for value in explicit)


def _rounded(node: ast.expr) -> float | None:
    """The rounding error of a side."""
    off: list[float | None] = []
    for n in ast.walk(node):
        if isinstance(n, ast.Call) and ast.unparse(n.func).rpartition(".")[2] in ("round", "around", "round_"):
            method = isinstance(n.func, ast.Attribute) and ast.unparse(n.func.value) not in (
                "np",
                "numpy",
                "torch",
                "jnp",
            )
            place = 0 if method else 1
            given = [k.value for k in n.keywords if k.arg in ("decimals", "ndigits")] or n.args[place : place + 1]
            digits = number(given[0]) if given else 0.0
            off.append(float("inf") if digits is None else 0.5 * 10.0**-digits)
    return _loosest(off)


def summarised(node: ast.expr) -> bool:
    """Whether a side is an element of a collection, or a statistic of many numbers."""
    match node:
        case ast.Subscript():
            return True
        case ast.Call(func=called):
            return ast.unparse(called).rpartition(".")[2] in _SUMMARIES
        case _:
            return False


def _or_infinite(value: float | None) -> float:
    return float("inf") if value is None else abs(value)


def _relative(node: ast.expr) -> float:
    """The tolerance in `abs(a - b) < 1e-5 * abs(b)`."""
    numbers = [n for n in (number(child) for child in ast.walk(node) if isinstance(child, ast.expr)) if n is not None]
    return min(map(abs, numbers)) if numbers else float("inf")


def _loosest(tolerances: Iterable[float | None]) -> float | None:
    known = [t for t in tolerances if t is not None]
    return max(known) if known else None


def _is_distance(node: ast.expr) -> bool:
    """Whether it is a distance of two values: `abs(a - b)`, `norm(a - b)`, `(a - b).abs().max()`."""
    subtracts = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in ast.walk(node))
    return subtracts and (_calls(node, "abs", "norm", "absolute", "fabs") or _squares(node))


def _squares(node: ast.expr) -> bool:
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow) for n in ast.walk(node))


def _calls(node: ast.expr, *names: str) -> bool:
    return any(isinstance(n, ast.Call) and ast.unparse(n.func).rpartition(".")[2] in names for n in ast.walk(node))


def _describes(node: ast.expr) -> bool:
    """Whether a side is a shape, size or type rather than values."""
    match node:
        case ast.Call(func=called):
            return ast.unparse(called).rpartition(".")[2] in _DESCRIBES | {"Size"} or (
                ast.unparse(called) in ("tuple", "list") and bool(node.args) and _describes(node.args[0])
            )
        case ast.Attribute(attr=attribute):
            return attribute in _DESCRIBES
        case ast.Subscript(value=value):
            return _describes(value)
        case _:
            return False


def _is_type(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="type")):
            return True
        case ast.Attribute(attr=attribute):
            return attribute in _OF_TYPE
        case _:
            return False


def alternatives(node: ast.expr) -> int:
    match node:
        case ast.BoolOp(op=ast.Or(), values=values):
            return sum(alternatives(value) for value in values)
        case ast.Compare(ops=[ast.In()], comparators=[ast.Tuple(elts=e) | ast.List(elts=e) | ast.Set(elts=e)]):
            return len(e)
        case _:
            return 1


def positive(node: ast.expr) -> ast.expr:
    """`not (a or b)` as `not a and not b`, `not a < b` as `a >= b`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = node.operand
        if isinstance(inner, ast.BoolOp):
            op: ast.boolop = ast.And() if isinstance(inner.op, ast.Or) else ast.Or()
            return ast.BoolOp(op, [positive(ast.UnaryOp(ast.Not(), value)) for value in inner.values])
        if isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            return ast.Compare(inner.left, [NEGATED[type(inner.ops[0])]()], inner.comparators)
        if isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not):
            return positive(inner.operand)
    return node


def sides_of(node: ast.expr) -> list[ast.expr]:
    """The two sides of an equality or closeness; empty for others."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            return [left, right]
        case ast.Call(func=called, args=[first, second, *_]):
            name = ast.unparse(called).rpartition(".")[2]
            return [first, second] if name in CLOSE or name in EQUAL else []
        case ast.Call(args=[inner]):
            return sides_of(inner)
        case ast.Call(func=ast.Attribute(value=inner), args=[]):
            return sides_of(inner)
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()]):
            found = [n for n in ast.walk(left) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)]
            return [found[0].left, found[0].right] if found and _is_distance(left) else []
        case _:
            return []


_MAKERS = frozenset(
    "array asarray tensor as_tensor Tensor list tuple set dict float int Size approx float32 float64".split()
)


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is a literal: numbers, strings, collections and arrays of them."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return is_literal(operand)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return all(map(is_literal, elements))
        case ast.Dict(values=values):
            return all(map(is_literal, values))
        case ast.Call(func=called, args=arguments):
            return ast.unparse(called).rpartition(".")[2] in _MAKERS and all(map(is_literal, arguments))
        case _:
            return number(node) is not None


def leaves(node: ast.expr) -> int:
    """The number of values in a literal; `1 / 3` is one."""
    if number(node) is not None or isinstance(node, ast.Constant):
        return 1
    return sum(leaves(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))


_ARITHMETIC: Mapping[type[ast.operator], Callable[[float, float], Any]] = {
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Pow: operator.pow,
}


def number(node: ast.expr) -> float | None:
    """The value of a constant numeric expression; None for all others."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int(value) | float(value)):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = number(operand)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=op, right=right):
            a, b = number(left), number(right)
            if a is None or b is None:
                return None
            compute = _ARITHMETIC.get(type(op))
            if compute is None or (isinstance(op, ast.Pow) and (abs(b) >= 64 or abs(a) >= 1e6)):
                return None
            try:
                return float(compute(a, b))
            except (ArithmeticError, TypeError):
                return None
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
            return float("inf") if "inf" in text else None
        case ast.Attribute(attr="inf"):
            return float("inf")
        case _:
            return None
