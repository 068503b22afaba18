"""What a test asserts, and how strongly: so that a repaired test can be held against the one before it."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from enum import IntEnum

from xkg.build.guided.reach import Around, Function, constant_truth, forgives_errors, reachable

# A float32 that was computed in another order differs by no more; what is compared more loosely is compared loosely.
ROUNDING = 1e-5
_TINY = 1e-3
_DEEPEST = 6


class Strength(IntEnum):
    """`NOTHING` always holds; `PRESENCE`: there is something, of a type, or other than something; `RANGE`: a bound, a
    predicate, a shape; `VALUE`: equal or close to what is expected."""

    NOTHING = 0
    PRESENCE = 1
    RANGE = 2
    VALUE = 3


@dataclass(frozen=True)
class Assertion:
    """One thing that a test asserts, of several that are joined by `and`.

    `text` is how it is written, variables replaced by what they were given; `alternatives` counts what is joined by
    `or`; `tolerance` is how far a value may be off (None: not at all, infinite where it cannot be told); `bound` the
    number it must not pass and on which side; `values` how many numbers and words it expects, None where they are
    computed; `independent` says that one side is not computed by the code under test; `looks` is 2 where the other is,
    1 where it was only handed to it."""

    line: int
    written: str
    text: str
    strength: Strength
    around: Around
    alternatives: int = 1
    tolerance: float | None = None
    bound: tuple[str, float] | None = None
    values: int | None = None
    independent: bool = True
    looks: int = 2


_CLOSE: Mapping[str, tuple[float, ...]] = {
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
_EQUAL = frozenset(
    "equal array_equal array_equiv assert_equal assert_array_equal assertEqual assertEquals assertListEqual"
    " assertDictEqual assertSequenceEqual assertTupleEqual assertIs assertIsNone assert_array_max_ulp".split()
)
_RANGED = frozenset(
    "assertLess assertLessEqual assertGreater assertGreaterEqual assertIn assertNotIn assert_array_less".split()
)
_PRESENT = frozenset("isinstance issubclass hasattr callable assertIsInstance assertIsNotNone id type".split())
_TOLERANCES = frozenset("atol rtol abs_tol rel_tol tol eps rel abs delta".split())
_DESCRIBES = frozenset("shape ndim size dtype device dim len numel itemsize nbytes".split())
_OF_TYPE = frozenset("dtype device __class__ __name__ __doc__ __module__ type".split())


def assertions(test: str | ast.Module, under_test: Set[str]) -> list[Assertion]:
    """What a test that parses asserts where it can run and fail, in the order of its lines. `under_test` are the
    public names of the implementation. A call of one of the test's own functions that asserts counts as an assertion
    of its strength. Raises as `ast.parse` does."""
    tree = ast.parse(test) if isinstance(test, str) else test
    return _Test(tree, under_test).read()


class _Test:
    def __init__(self, tree: ast.Module, under_test: Set[str]) -> None:
        self._tree = tree
        self._under_test = under_test
        self._functions = _functions(tree)
        self._given = _given(tree)
        self._results = _tainted(tree, set(under_test), self._functions, handed=False)
        self._handed = _tainted(tree, set(under_test), self._functions, handed=True)

    def read(self) -> list[Assertion]:
        found: list[Assertion] = []
        helpers: dict[str, Strength] = {}
        running = self._running()
        for name in [n for n in self._functions if n in running]:
            inner = list(self._in(self._functions[name].body, name))
            found += inner
            if inner and self._functions[name].args.args:
                helpers[name] = max(a.strength for a in inner)
        found += self._in(self._tree.body, "")
        for name in ("", *[n for n in self._functions if n in running]):
            body = self._functions[name].body if name else self._tree.body
            for statement, around in reachable(body, Around(function=name)):
                match statement:
                    case ast.Expr(value=ast.Call(func=ast.Name(id=called)) as call) if called in helpers:
                        written = ast.unparse(call)
                        found.append(Assertion(statement.lineno, written, self._spelt(call), helpers[called], around))
        kept = [a for a in found if not a.around.forgiven and a.strength > Strength.NOTHING]
        return sorted(kept, key=lambda a: a.line)

    def _running(self) -> set[str]:
        """The functions of the test that something calls."""
        running: set[str] = set()
        waiting: list[Iterable[tuple[ast.stmt, Around]]] = [reachable(self._tree.body)]
        everything = False
        while waiting:
            for statement, _ in waiting.pop():
                if isinstance(statement, (Function, ast.ClassDef)):
                    continue
                called = set(_called(statement))
                everything |= not called.isdisjoint({"globals", "locals", "vars", "unittest.main", "pytest.main"})
                for name in sorted(self._functions if everything else called & self._functions.keys()):
                    if name not in running and not _is_generator(self._functions[name]):
                        running.add(name)
                        waiting.append(reachable(self._functions[name].body))
        return running

    def _in(self, body: list[ast.stmt], function: str) -> Iterator[Assertion]:
        for statement, around in reachable(body, Around(function=function)):
            match statement:
                case ast.Assert(test=test):
                    yield from self._asserted(test, statement.lineno, ast.unparse(test), around)
                case ast.Expr(value=ast.Call() as call) if _asserts(call):
                    yield from self._asserted(call, statement.lineno, ast.unparse(call), around)
                case ast.If(test=test, body=[ast.Raise() | ast.Expr(value=ast.Call())] as inner, orelse=[]):
                    if isinstance(inner[0], ast.Raise) or ast.unparse(inner[0]).startswith(("sys.exit(", "exit(")):
                        yield from self._asserted(
                            ast.UnaryOp(ast.Not(), test), statement.lineno, ast.unparse(statement), around
                        )
                case ast.With(items=items):
                    for item in items:
                        context = item.context_expr
                        if isinstance(context, ast.Call) and ast.unparse(context.func).endswith(("raises", "Raises")):
                            strength = Strength.PRESENCE if forgives_errors(context) else Strength.VALUE
                            text = ast.unparse(context)
                            yield Assertion(statement.lineno, text, text, strength, around)
                case _:
                    continue

    def _asserted(self, test: ast.expr, line: int, written: str, around: Around) -> Iterator[Assertion]:
        test = _positive(test)
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for value in test.values:
                yield from self._asserted(value, line, written, around)
        elif isinstance(test, ast.Compare) and len(test.ops) > 1:
            sides = [test.left, *test.comparators]
            for left, op, right in zip(sides, test.ops, sides[1:], strict=False):
                yield from self._asserted(ast.Compare(left, [op], [right]), line, written, around)
        else:
            text = self._spelt(test)
            tree = ast.parse(text, mode="eval").body
            strength, tolerance, bound = _judged(tree)
            direct, handed = (self._mentions(test, names) for names in (self._results, self._handed))
            yield Assertion(
                line,
                written,
                text,
                strength,
                around,
                alternatives=_alternatives(test),
                tolerance=tolerance,
                bound=bound,
                values=self._expected(tree),
                independent=self._independent(tree),
                looks=2 if direct else 1 if handed else 0,
            )

    def _spelt(self, node: ast.expr) -> str:
        """An expression with variables that were given one value replaced by it."""
        return ast.unparse(_Spelling(self._given).visit(ast.parse(ast.unparse(node), mode="eval").body))

    def _mentions(self, node: ast.AST, names: Set[str]) -> bool:
        return any(
            (isinstance(n, ast.Name) and n.id in names) or (isinstance(n, ast.Attribute) and n.attr in names)
            for n in ast.walk(node)
        )

    def _expected(self, node: ast.expr) -> int | None:
        """How many constants are expected, where they are written down."""
        sides = [side for side in _sides(node) if _is_literal(side)]
        return _leaves(sides[0]) if len(sides) == 1 else None

    def _independent(self, node: ast.expr) -> bool:
        """Whether what is expected comes from elsewhere than the code under test."""
        sides = _sides(node)
        return len(sides) < 2 or not all(self._mentions(side, self._under_test) for side in sides)


class _Spelling(ast.NodeTransformer):
    def __init__(self, given: Mapping[str, ast.expr], depth: int = _DEEPEST) -> None:
        self._given = given
        self._depth = depth

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self._given.get(node.id)
        if value is None or self._depth == 0 or not isinstance(node.ctx, ast.Load):
            return node
        copy = ast.parse(ast.unparse(value), mode="eval").body
        return _Spelling(self._given, self._depth - 1).visit(copy)  # type: ignore[no-any-return]


# --- how strong


def _judged(node: ast.expr) -> tuple[Strength, float | None, tuple[str, float] | None]:
    """Strength, tolerance and bound of an expression that is asserted, its variables replaced."""
    truth = constant_truth(node)
    if truth:
        return Strength.NOTHING, None, None
    match node:
        case ast.BoolOp(op=ast.Or(), values=values):
            judged = [_judged(value) for value in values]
            return min(strength for strength, _, _ in judged), _loosest(t for _, t, _ in judged), None
        case ast.BoolOp(op=ast.And(), values=values):
            judged = [_judged(value) for value in values]
            return max(strength for strength, _, _ in judged), _loosest(t for _, t, _ in judged), None
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            strength, tolerance, _ = _judged(operand)
            if _calls(operand, "any"):
                return Strength.RANGE, None, None
            return min(max(strength, Strength.PRESENCE), Strength.RANGE), tolerance, None
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right)
        case ast.Call(func=called):
            return _called_predicate(node, ast.unparse(called).rpartition(".")[2])
        case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) | ast.SetComp(elt=element):
            return _judged(element)
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            return max(_judged(left), _judged(right), key=lambda judged: judged[0])
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return min(_judged(left), _judged(right), key=lambda judged: judged[0])
        case ast.IfExp(body=body, orelse=orelse):
            return min(_judged(body), _judged(orelse), key=lambda judged: judged[0])
        case ast.NamedExpr(value=value):
            return _judged(value)
        case _:
            return Strength.PRESENCE, None, None


def _compared(
    left: ast.expr, op: ast.cmpop, right: ast.expr
) -> tuple[Strength, float | None, tuple[str, float] | None]:
    if ast.dump(left) == ast.dump(right):
        return Strength.NOTHING, None, None
    if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        low, high = (left, right) if isinstance(op, (ast.Lt, ast.LtE)) else (right, left)
        limit = number(high)
        if limit is not None and _is_distance(low):
            return Strength.VALUE, limit, None
        if limit is not None and limit <= _TINY and _calls(low, "abs", "norm", "absolute", "fabs"):
            return Strength.VALUE, limit, None
        if limit is None and _is_distance(low) and not _is_distance(high):
            return Strength.VALUE, _relative(high), None
        if limit is not None:
            return Strength.RANGE, None, ("<", limit)
        least = number(low)
        if least is None:
            return Strength.RANGE, None, None
        counts = _describes(high) or _calls(high, "abs", "norm")
        # No length, no distance is below zero.
        empty = counts and (least < 0 or (least == 0 and isinstance(op, (ast.LtE, ast.GtE))))
        there = counts and least == 0
        strength = Strength.NOTHING if empty else Strength.PRESENCE if there else Strength.RANGE
        return strength, None, (">", least)
    if isinstance(op, (ast.NotEq, ast.IsNot)):
        return Strength.PRESENCE, None, None
    if isinstance(op, (ast.In, ast.NotIn)):
        return Strength.RANGE, None, None
    tolerance = None
    for side in (left, right):
        if isinstance(side, ast.Call) and ast.unparse(side.func).rpartition(".")[2] == "approx":
            tolerance = _tolerance(side, "approx")
        if isinstance(side, ast.Call) and ast.unparse(side.func).rpartition(".")[2] == "round":
            digits = number(side.args[1]) if len(side.args) > 1 else 0
            tolerance = 0.5 * 10.0 ** -(digits or 0)
    if any(_is_type(side) for side in (left, right)):
        return Strength.PRESENCE, tolerance, None
    if isinstance(right, ast.Constant) and isinstance(right.value, bool):
        strength, inner, bound = _judged(left)
        return strength, inner, bound
    return Strength.RANGE if _describes(left) or _describes(right) else Strength.VALUE, tolerance, None


def _called_predicate(node: ast.Call, name: str) -> tuple[Strength, float | None, tuple[str, float] | None]:
    arguments = node.args
    same = len(arguments) >= 2 and ast.dump(arguments[0]) == ast.dump(arguments[1])
    if name in _CLOSE:
        return (Strength.NOTHING if same else Strength.VALUE), _tolerance(node, name), None
    if name in _EQUAL:
        if same:
            return Strength.NOTHING, None, None
        described = any(_describes(a) for a in arguments)
        return (Strength.RANGE if described else Strength.VALUE), None, None
    if name in ("all", "assertTrue", "bool", "item", "assert_", "any", "sum"):
        inner = arguments[0] if arguments else node.func.value if isinstance(node.func, ast.Attribute) else None
        if inner is None:
            return Strength.PRESENCE, None, None
        strength, tolerance, bound = _judged(inner)
        if name in ("any", "sum"):
            strength = min(strength, Strength.PRESENCE)
        elif name == "all" and strength is Strength.PRESENCE:
            strength = Strength.RANGE
        return strength, tolerance, bound
    if name in _PRESENT:
        return Strength.PRESENCE, None, None
    return Strength.RANGE, None, None


def _tolerance(node: ast.Call, name: str) -> float | None:
    defaults = _CLOSE[name]
    given: dict[str, ast.expr] = {k.arg: k.value for k in node.keywords if k.arg}
    if name in ("assert_almost_equal", "assert_array_almost_equal", "assertAlmostEqual"):
        places = given.get("decimal") or given.get("places") or (node.args[2] if len(node.args) > 2 else None)
        if "delta" in given:
            return _or_infinite(number(given["delta"]))
        digits = None if places is None else number(places)
        return max(defaults) if places is None else _or_infinite(None if digits is None else 1.5 * 10.0**-digits)
    position = 1 if name == "approx" else 2
    keys = [key for key in given if key in _TOLERANCES]
    told = [given[key] for key in keys] + list(node.args[position : position + 2])
    return max(defaults) if not told else max(_or_infinite(number(value)) for value in told)


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
    """`abs(a - b)`, `norm(a - b)`, `(a - b).abs().max()`: how far one value is from another."""
    subtracts = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in ast.walk(node))
    return subtracts and (_calls(node, "abs", "norm", "absolute", "fabs") or _squares(node))


def _squares(node: ast.expr) -> bool:
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow) for n in ast.walk(node))


def _calls(node: ast.expr, *names: str) -> bool:
    return any(isinstance(n, ast.Call) and ast.unparse(n.func).rpartition(".")[2] in names for n in ast.walk(node))


def _describes(node: ast.expr) -> bool:
    """Whether a side is the shape or the number of something, not its values."""
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


def _alternatives(node: ast.expr) -> int:
    match node:
        case ast.BoolOp(op=ast.Or(), values=values):
            return sum(_alternatives(value) for value in values)
        case ast.Compare(ops=[ast.In()], comparators=[ast.Tuple(elts=e) | ast.List(elts=e) | ast.Set(elts=e)]):
            return len(e)
        case _:
            return 1


def _positive(node: ast.expr) -> ast.expr:
    """`not (a or b)` as `not a and not b`, `not a < b` as `a >= b`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = node.operand
        if isinstance(inner, ast.BoolOp):
            op: ast.boolop = ast.And() if isinstance(inner.op, ast.Or) else ast.Or()
            return ast.BoolOp(op, [_positive(ast.UnaryOp(ast.Not(), value)) for value in inner.values])
        if isinstance(inner, ast.Compare) and len(inner.ops) == 1:
            return ast.Compare(inner.left, [_OPPOSITE[type(inner.ops[0])]()], inner.comparators)
        if isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not):
            return _positive(inner.operand)
    return node


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def _sides(node: ast.expr) -> list[ast.expr]:
    """What is compared with what."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            return [left, right]
        case ast.Call(func=called, args=[first, second, *_]):
            name = ast.unparse(called).rpartition(".")[2]
            return [first, second] if name in _CLOSE or name in _EQUAL else []
        case ast.Call(args=[inner]):
            return _sides(inner)
        case ast.Call(func=ast.Attribute(value=inner), args=[]):
            return _sides(inner)
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()]):
            found = [n for n in ast.walk(left) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)]
            return [found[0].left, found[0].right] if found and _is_distance(left) else []
        case _:
            return []


_MAKERS = frozenset(
    "array asarray tensor as_tensor Tensor list tuple set dict float int Size approx float32 float64".split()
)


def _is_literal(node: ast.expr) -> bool:
    """Whether an expression is written down: numbers, words, groups and arrays of them."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_literal(operand)
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return all(map(_is_literal, elements))
        case ast.Dict(values=values):
            return all(map(_is_literal, values))
        case ast.Call(func=called, args=arguments):
            return ast.unparse(called).rpartition(".")[2] in _MAKERS and all(map(_is_literal, arguments))
        case _:
            return number(node) is not None


def _leaves(node: ast.expr) -> int:
    """How many values a literal has; `1 / 3` is one."""
    if number(node) is not None or isinstance(node, ast.Constant):
        return 1
    return sum(_leaves(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))


def number(node: ast.expr) -> float | None:
    """The number that an expression of constants is; None for all else."""
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
            try:
                match op:
                    case ast.Mult():
                        return a * b
                    case ast.Div():
                        return a / b
                    case ast.Add():
                        return a + b
                    case ast.Sub():
                        return a - b
                    case ast.Pow():
                        return float(a**b) if abs(b) < 64 and abs(a) < 1e6 else None
                    case _:
                        return None
            except (ArithmeticError, TypeError):
                return None
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
            return float("inf") if "inf" in text else None
        case ast.Attribute(attr="inf"):
            return float("inf")
        case _:
            return None


# --- what runs, and what it looks at


def _functions(tree: ast.Module) -> dict[str, Function]:
    """The functions of a test by name, the last of each; one that is skipped or bound to something else is none."""
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


def _called(statement: ast.stmt) -> Iterator[str]:
    """Names that the head of a statement calls, or hands to something that does."""
    for part in _own_expressions(statement):
        for node in ast.walk(part):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                yield from (name, name.rpartition(".")[2])
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


def _own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    for value in ast.iter_child_nodes(statement):
        if isinstance(value, ast.expr):
            yield value
        elif isinstance(value, ast.withitem):
            yield value.context_expr


def _asserts(call: ast.Call) -> bool:
    called = ast.unparse(call.func)
    name = called.rpartition(".")[2]
    return name.startswith("assert") and ("." in called or name in _CLOSE or name in _EQUAL)


def _is_generator(function: Function) -> bool:
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    inner = {id(n) for f in ast.walk(function) if isinstance(f, Function) and f is not function for n in ast.walk(f)}
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) and id(n) not in inner for n in ast.walk(function))


def _given(tree: ast.Module) -> dict[str, ast.expr]:
    """The variables that are bound once, to one expression that is not too long to stand for them."""
    stored: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            stored[node.id] = stored.get(node.id, 0) + 1
        elif isinstance(node, ast.arg):
            stored[node.arg] = stored.get(node.arg, 0) + 1
    return {
        name: value for name, value in _single(tree).items() if stored.get(name) == 1 and len(ast.unparse(value)) < 400
    }


def _single(tree: ast.Module) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                found[name] = value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                values
            ):
                found |= {t.id: v for t, v in zip(targets, values, strict=True) if isinstance(t, ast.Name)}
            case _:
                continue
    return found


def _tainted(tree: ast.Module, names: set[str], functions: Mapping[str, Function], *, handed: bool) -> set[str]:
    """The names of a test that hold something of the code under test; with `handed` also those that it was given."""
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
                case ast.AnnAssign(target=target, value=ast.expr() as value) if touches(value):
                    tainted |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value) if touches(
                    value
                ):
                    tainted |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value) if touches(
                    value
                ):
                    tainted |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
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
