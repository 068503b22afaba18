"""Finds changes to a module that give the same results on generated inputs, so that no test can detect them.

The inputs come from the test, which is rerun with different numbers and seeds and without assertions. A change counts
as equivalent only if enough calls run the changed lines and return differing values. In addition, every call must
return the same value and leave its arguments in the same state with and without the change. The code under test reports
its own results, so a forged report can excuse changes, but only up to the share `MOST_EXCUSED`. Program equivalence is
undecidable (Budd and Angluin, "Two notions of correctness and their relation to testing", 1982). Comparing results on
sampled inputs is the usual approximation."""

import ast
import builtins
import math
import random
from collections.abc import Iterator, Sequence

from pydantic import ValidationError

from xkg.sandbox.evidence.harness_runs import HarnessRuns
from xkg.sandbox.evidence.mutation import Change
from xkg.sandbox.evidence.python_ast import is_main_guard, last_name, syntax_tree
from xkg.sandbox.guest.source import guest_source
from xkg.sandbox.runner import Limits
from xkg.value import Value

MOST_EXCUSED = 0.25
VARIANTS = 8
_FOLLOWING = 3
_FEWEST_CALLS = 6
_FEWEST_VALUES = 3
_LARGEST_TABLE = 4_000
_MARK = "xkg: observed "
_SEEDS = ("seed", "prngkey", "default_rng", "randomstate", "key")


class Observed(Value):
    """The calls observed in one run. For each call, `calls` contains digests of the result and the arguments, and
    whether the call raised an exception (0 or 1). The last number is the index of the executed lines in `line_sets`."""

    calls: tuple[tuple[str, str, int, int], ...]
    rest: str
    line_sets: tuple[tuple[int, ...], ...]

    def outcomes(self) -> tuple[object, ...]:
        return tuple(call[:3] for call in self.calls), self.rest

    def exercises(self, change: Change) -> bool:
        """Returns whether enough calls ran the changed lines and returned different values."""
        touching = {at for at, lines in enumerate(self.line_sets) if change.touches(frozenset(lines))}
        results = [result for result, _, raised, at in self.calls if at in touching and not raised]
        return len(results) >= _FEWEST_CALLS and len(set(results)) >= _FEWEST_VALUES


def equivalent(changes: Sequence[Change], test: str, seed: str, runs: HarnessRuns, limits: Limits) -> list[Change]:
    """Returns those `changes` that do not affect the results on inputs generated from `seed`. Returns an empty list if
    the unchanged code returns different values on each run. `limits` apply to a single run of the test. A run of
    several variants gets proportionally more time. Raises the same errors as `runs`."""
    if not changes:
        return []
    longer = limits.model_copy(update={"seconds": VARIANTS * limits.seconds})
    following = limits.model_copy(update={"seconds": _FOLLOWING * VARIANTS * limits.seconds})
    original = _observed(None, script(test, seed, following=True), runs, following)
    if original is None:
        return []
    candidates = [change for change in changes if original.exercises(change)]
    plain = script(test, seed, following=False)
    if not candidates or _outcomes(None, plain, runs, longer) != original.outcomes():
        return []
    same = runs.each(lambda change: _outcomes(change, plain, runs, longer) == original.outcomes(), candidates)
    return [change for change, is_same in zip(candidates, same, strict=True) if is_same]


def script(test: str, seed: str, *, following: bool) -> str:
    """Returns a program that runs the variants of a test and prints the observations. The test must parse."""
    varied = _Varied()
    statements = [ast.unparse(ast.fix_missing_locations(varied.visit(s))) for s in _top(syntax_tree(test).body)]
    tables = [list(_table(varied.numbers, n, random.Random(f"{seed} {n}"))) for n in range(VARIANTS)]
    return f"{guest_source('observe')}\n\n_xkg_observe({statements!r}, {tables!r}, {following!r})\n"


def _observed(change: Change | None, program: str, runs: HarnessRuns, limits: Limits) -> Observed | None:
    run = runs.observed(change, program, limits)
    reports = [line for line in run.outcome.output.splitlines() if line.startswith(_MARK)]
    if not run.ended or not reports:
        return None
    try:
        return Observed.model_validate_json(reports[-1].removeprefix(_MARK))
    except ValidationError:
        return None


def _outcomes(change: Change | None, program: str, runs: HarnessRuns, limits: Limits) -> tuple[object, ...] | None:
    observed = _observed(change, program, runs, limits)
    return observed.outcomes() if observed else None


def _top(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields a script's statements. An `if __name__ == "__main__"` block is replaced with its body."""
    for statement in body:
        match statement:
            case ast.ImportFrom(module="__future__"):
                continue
            case ast.If(body=inner) if is_main_guard(statement):
                yield from _top(inner)
            case _:
                yield statement


class _Varied(ast.NodeTransformer):
    """Replaces numbers with table look-ups, calls with observed calls, and assertions with the expressions that they
    assert. `numbers` lists the numbers in order, each with the kind of variation to apply to it."""

    def __init__(self) -> None:
        self.numbers: list[tuple[int | float, str]] = []
        self._as = "size"

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return node
        if len(self.numbers) >= _LARGEST_TABLE:
            return node
        self.numbers.append((value, "real" if isinstance(value, float) else self._as))
        return _call("_xkg_number", ast.Constant(len(self.numbers) - 1))

    def visit_List(self, node: ast.List) -> ast.expr:
        return self._inside("item", node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = last_name(node.func)
        kind = "seed" if any(name.casefold().endswith(seed) for seed in _SEEDS) else "size"
        varied = self._inside(kind, node)
        if isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id):
            return varied
        assert isinstance(varied, ast.Call)
        return ast.Call(ast.Name("_xkg_call", ast.Load()), [varied.func, *varied.args], varied.keywords)

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        kind = "seed" if node.arg and node.arg.casefold().endswith(_SEEDS) else self._as
        node.value = self._inside(kind, node.value, whole=True)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        return ast.Expr(self.visit(node.test))

    def visit_withitem(self, node: ast.withitem) -> ast.withitem:
        call = node.context_expr
        if isinstance(call, ast.Call) and {"assert", "raises"} & {*last_name(call.func).casefold().split("_")}:
            return ast.withitem(_call("_xkg_swallow"), node.optional_vars)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return node

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        return node

    def _inside(self, kind: str, node: ast.expr, *, whole: bool = False) -> ast.expr:
        before, self._as = self._as, kind
        varied = self.visit(node) if whole else self.generic_visit(node)
        self._as = before
        assert isinstance(varied, ast.expr)
        return varied


def _table(numbers: Sequence[tuple[int | float, str]], variant: int, draw: random.Random) -> Iterator[int | float]:
    """Yields the numbers to use in one variant of the test. The first variant uses the test's own numbers. Only the
    last two variants change numbers that are sizes."""
    for value, kind in numbers:
        if variant == 0:
            yield value
        elif kind == "real":
            special = draw.random()
            yield 0.0 if special < 0.1 else 1.0 if special < 0.2 else -value if special < 0.3 else _near(value, draw)
        elif kind == "item":
            yield int(value) + draw.choice((-2, -1, 0, 1, 1, 2, 3))
        elif kind == "seed":
            yield draw.randrange(1 << 30)
        else:
            moved = variant >= VARIANTS - 2 and draw.random() < 0.3
            yield max(1, int(value) + draw.choice((-1, 1))) if moved else value


def _near(value: float, draw: random.Random) -> float:
    return value * draw.uniform(0.5, 1.5) + draw.uniform(-0.1, 0.1) * (value == 0)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
