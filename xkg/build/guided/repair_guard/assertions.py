"""The assertions of a test and their strength, for comparing a repaired test with the original."""

import ast
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

from xkg.build.guided.repair_guard.assertion_strength import (
    CLOSE,
    EQUAL,
    Strength,
    alternatives,
    is_literal,
    judged,
    leaves,
    positive,
    sides_of,
    summarised,
)
from xkg.build.guided.repair_guard.reachability import Around, Function, forgives_errors, reachable
from xkg.build.guided.repair_guard.test_flow import (
    Values,
    arguments_of,
    called_by,
    functions_of,
    is_generator,
    tainted_names,
)
from xkg.sandbox.evidence.python_ast import syntax_tree

_DEEPEST = 3


@dataclass(frozen=True)
class Assertion:
    """One assertion of a test, after splitting at `and`.

    `text` is its source with variables replaced by their values; `alternatives` counts the operands of `or`;
    `tolerance` is the allowed difference (None: exact, infinite if unknown); `bound` a limit with its side; `values`
    the number of expected numbers and words, None where they are computed; `narrow` the number of sides that are an
    element or a summary, `narrow_results` of those among them that the code under test gives. `independent`: one side
    is not computed by the code under test; `looks` is 2 where the other is, 1 where it was only passed to it."""

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
    narrow: int = 0
    narrow_results: int = 0


def assertions(test: str | ast.Module, under_test: Set[str]) -> list[Assertion]:
    """The assertions of a test that can run and fail, in the order of lines. `under_test` are the public names of the
    implementation. Assertions in the test's own functions with parameters count for each call. Raises as `ast.parse`
    does."""
    tree = syntax_tree(test) if isinstance(test, str) else test
    return _Test(tree, under_test).read()


class _Test:
    def __init__(self, tree: ast.Module, under_test: Set[str]) -> None:
        self._tree = tree
        self._under_test = under_test
        self._functions = functions_of(tree)
        self._helpers: dict[str, Function] = {}
        self._called: set[str] = set()
        self._results = tainted_names(tree, set(under_test), self._functions, handed=False)
        self._handed = tainted_names(tree, set(under_test), self._functions, handed=True)

    def read(self) -> list[Assertion]:
        whole = Values()
        for statement, _ in reachable(self._tree.body):
            whole.follow(statement)
        running = self._running()
        functions = {name: function for name, function in self._functions.items() if name in running}
        inside = {n: list(self._in(f.body, n, Values(whole, arguments_of(f)))) for n, f in functions.items()}
        self._helpers = {n: functions[n] for n, found in inside.items() if found and arguments_of(functions[n])}
        # Second pass, now that the helpers that assert are known.
        found = list(self._in(self._tree.body, "", Values()))
        for name, function in functions.items():
            found += self._in(function.body, name, Values(whole, arguments_of(function)))
        found = [a for a in found if a.around.function not in self._called]
        valid = [a for a in found if not a.around.forgiven and a.strength > Strength.NOTHING]
        return sorted(valid, key=lambda a: a.line)

    def _running(self) -> set[str]:
        """The functions of the test that are called."""
        running: set[str] = set()
        waiting: list[Iterable[tuple[ast.stmt, Around]]] = [reachable(self._tree.body)]
        everything = False
        while waiting:
            for statement, _ in waiting.pop():
                if isinstance(statement, (Function, ast.ClassDef)):
                    continue
                called = set(called_by(statement))
                everything |= not called.isdisjoint({"globals", "locals", "vars", "unittest.main", "pytest.main"})
                for name in sorted(self._functions if everything else called & self._functions.keys()):
                    if name not in running and not is_generator(self._functions[name]):
                        running.add(name)
                        waiting.append(reachable(self._functions[name].body))
        return running

    def _in(self, body: list[ast.stmt], function: str, values: Values, depth: int = 0) -> Iterator[Assertion]:
        for statement, around in reachable(body, Around(function=function, depth=depth)):
            line = statement.lineno
            match statement:
                case ast.Assert(test=test):
                    yield from self._asserted(test, line, ast.unparse(test), around, values)
                case ast.Expr(value=ast.Call() as call) if _asserts(call):
                    yield from self._asserted(call, line, ast.unparse(call), around, values)
                case ast.Expr(value=ast.Call(func=ast.Name(id=called)) as call) if called in self._helpers:
                    yield from self._helped(call, called, around, values)
                case ast.If(test=test, body=[ast.Raise() | ast.Expr(value=ast.Call())] as inner, orelse=[]):
                    if isinstance(inner[0], ast.Raise) or ast.unparse(inner[0]).startswith(("sys.exit(", "exit(")):
                        fails = ast.UnaryOp(ast.Not(), test)
                        yield from self._asserted(fails, line, ast.unparse(statement), around, values)
                case ast.With(items=items):
                    for item in items:
                        context = item.context_expr
                        if isinstance(context, ast.Call) and ast.unparse(context.func).endswith(("raises", "Raises")):
                            strength = Strength.PRESENCE if forgives_errors(context) else Strength.VALUE
                            text = ast.unparse(context)
                            yield Assertion(line, text, text, strength, around)
                case _:
                    pass
            values.follow(statement)

    def _asserted(self, test: ast.expr, line: int, written: str, around: Around, values: Values) -> Iterator[Assertion]:
        test = positive(test)
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for value in test.values:
                yield from self._asserted(value, line, written, around, values)
        elif isinstance(test, ast.Compare) and len(test.ops) > 1:
            sides = [test.left, *test.comparators]
            for left, op, right in zip(sides, test.ops, sides[1:], strict=False):
                yield from self._asserted(ast.Compare(left, [op], [right]), line, written, around, values)
        else:
            tree = values.spelt(test)
            strength, tolerance, bound = judged(tree)
            yield Assertion(
                line,
                written,
                ast.unparse(tree),
                strength,
                around,
                alternatives=alternatives(tree),
                tolerance=tolerance,
                bound=bound,
                values=_expected(sides_of(tree)),
                narrow=sum(summarised(side) for side in sides_of(tree)),
                narrow_results=sum(summarised(side) and self._is_result(side) for side in sides_of(tree)),
                independent=self._independent(sides_of(tree)),
                looks=self._looks(test, tree),
            )

    def _helped(self, call: ast.Call, called: str, around: Around, values: Values) -> Iterator[Assertion]:
        """The assertions of a test function for the arguments of this call."""
        helper = self._helpers[called]
        self._called.add(called)
        if around.function == called or around.depth >= _DEEPEST:
            return
        inner = values.handed(helper, call)
        for assertion in self._in(helper.body, called, inner, around.depth + 1):
            outer = replace(
                around,
                conditions=(*around.conditions, *assertion.around.conditions),
                forgiven=around.forgiven or assertion.around.forgiven,
            )
            written = f"{assertion.written}, by {ast.unparse(call)}"
            looks = max(assertion.looks, self._looks(call, call))
            yield replace(assertion, line=call.lineno, written=written, around=outer, looks=looks)

    def _looks(self, written: ast.expr, tree: ast.expr) -> int:
        if self._mentions(tree, self._under_test) or self._mentions(written, self._results):
            return 2
        return int(self._mentions(written, self._handed))

    def _is_result(self, side: ast.expr) -> bool:
        return self._mentions(side, self._under_test) or self._mentions(side, self._results)

    def _mentions(self, node: ast.AST, names: Set[str]) -> bool:
        return any(
            (isinstance(n, ast.Name) and n.id in names) or (isinstance(n, ast.Attribute) and n.attr in names)
            for n in ast.walk(node)
        )

    def _independent(self, sides: list[ast.expr]) -> bool:
        """Whether the expected value does not come from the code under test."""
        return len(sides) < 2 or not all(self._mentions(side, self._results) for side in sides)


def _expected(sides: list[ast.expr]) -> int | None:
    """The number of expected values, if they are a literal."""
    literal = [side for side in sides if is_literal(side)]
    return leaves(literal[0]) if len(literal) == 1 else None


def _asserts(call: ast.Call) -> bool:
    called = ast.unparse(call.func)
    name = called.rpartition(".")[2]
    return name.startswith("assert") and ("." in called or name in CLOSE or name in EQUAL)
