"""The statements of a program as bags of features, to compare their computations.

Statements with the same computation share features, regardless of variable names, the division into steps, and
positional or keyword arguments. A feature is an operation (a call by its last name, an operator, a loop), or an
operation with one operand, like the tree fragments of clone detection (Jiang et al., "DECKARD", ICSE 2007). A variable
counts as the operation that gave it its value: `s = f(a); return s + b` has the features of `return f(a) + b`. Imports,
signatures, annotations, docstrings, input validation, logging, seeds, devices and stored parameters are ignored."""

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xkg.build.code.languages.python import parse_ast
from xkg.build.similarity.expression_features import FeatureBag, Function, Values, root_name, tests_presence

_LOGGERS = frozenset("logging logger log warnings writer wandb tqdm pbar progress".split())
_LOG_CALLS = frozenset(
    "debug info warning warn error exception critical log print add_scalar add_scalars set_description set_postfix"
    " manual_seed manual_seed_all seed simplefilter filterwarnings".split()
)


@dataclass
class Statement:
    """A statement that computes something: its 1-based first line, its text (only the head of a compound statement),
    its features with counts, and the statements of the same program whose values it uses."""

    line: int
    text: str
    features: Counter[str]
    sources: tuple[int, ...] = ()
    weight: float = field(init=False)

    def __post_init__(self) -> None:
        self.weight = sum(weight_of(name) * n for name, n in self.features.items())


def weight_of(feature: str) -> float:
    """The weight of a feature: highest for a named call, lowest for constants and operand slots."""
    return {"c": 1.5, "n": 1.0, "f": 0.5, "e": 0.5, "k": 0.5}[feature[0]]


def statements(source: str, callables: frozenset[str] = frozenset()) -> list[Statement]:
    """The statements of a program that compute something, in order. If the source does not parse as a whole (excerpts
    of files), it is parsed in pieces; pieces that are not valid Python are skipped. A called attribute with a name in
    `callables` (`functions.loss(x)`) counts as the call of a value (`loss(x)`)."""
    results: list[Statement] = []
    for first, tree in _pieces(source):
        _Reader(tree, source.split("\n"), first, results, callables).read()
    return results


def called_parameters(source: str) -> frozenset[str]:
    """The function parameters that a program calls, such as a loss that was an attribute in its source."""
    found: set[str] = set()
    for _, tree in _pieces(source):
        for function in (node for node in ast.walk(tree) if isinstance(node, (Function, ast.Lambda))):
            calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
            called = {name.id for name in calls if isinstance(name, ast.Name)}
            found |= called & _parameters(function.args)
    return frozenset(found)


# --- parsing incomplete modules


def _pieces(source: str) -> Iterator[tuple[int, ast.Module]]:
    """The syntax trees of a source and the number of lines before each."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    whole = parse_ast(source)
    if whole is not None:
        yield 0, whole
        return
    lines = source.split("\n")
    for start, end in _blocks(lines):
        yield from _parsed_runs(lines, start, end)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines between unindented comments (such as excerpt headings), fences and lines of dots."""
    start = 0
    for i, line in enumerate(lines):
        if re.match(r"#|```|\s*(?:…|\.\.\.)\s*$", line):
            yield start, i
            start = i + 1
    yield start, len(lines)


def _parsed_runs(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, ast.Module]]:
    while start < end and not lines[start].strip():
        start += 1
    if start >= end:
        return
    tree = parse_ast(textwrap.dedent("\n".join(lines[start:end])))
    if tree is not None:
        yield start, tree
        return
    margin = len(lines[start]) - len(lines[start].lstrip())
    heads = [
        i
        for i in range(start + 1, end)
        if lines[i].strip()
        and len(lines[i]) - len(lines[i].lstrip()) <= margin
        and (not lines[i - 1].strip() or re.match(r"\s*(?:async\s+def|def|class|@)\b", lines[i]))
    ]
    if heads:
        for first, last in zip([start, *heads], [*heads, end], strict=True):
            yield from _parsed_runs(lines, first, last)
    elif end - start > 1:  # the lines after the first may parse without it
        yield from _parsed_runs(lines, start + 1, end)


# --- from syntax trees to features


class _Reader:
    """Adds the statements of one tree to `results`."""

    def __init__(
        self,
        tree: ast.Module,
        lines: Sequence[str],
        before: int,
        results: list[Statement],
        callables: frozenset[str],
    ) -> None:
        self._tree = tree
        self._lines = lines
        self._before = before
        self._statements = results
        self._own = {n.name: n for n in ast.walk(tree) if isinstance(n, (Function, ast.ClassDef))}
        self._modules = _imported(tree)
        self._callables = callables

    def read(self) -> None:
        try:
            self._block(self._tree.body, Values(frozenset()))
        except RecursionError:  # a formula with a thousand terms: keep the statements before it
            return

    def _block(self, body: Sequence[ast.stmt], values: Values) -> None:
        for statement in body:
            self._statement(statement, values)

    def _statement(self, node: ast.stmt, values: Values) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._block(node.body, Values(_parameters(node.args), values))
            case ast.ClassDef():
                self._block(node.body, Values(frozenset(), values))
            case ast.If():
                if not (_validates(node) or tests_presence(node.test)):
                    self._add(node, "if", [node.test], values)
                if not _validates(node):
                    self._block(node.body, values)
                self._block(node.orelse, values)
            case ast.For() | ast.AsyncFor():
                index = self._add(node, "for", [node.iter], values)
                values.bind(node.target, ast.Call(ast.Name("item", ast.Load()), [node.iter], []), index)
                self._block([*node.body, *node.orelse], values)
            case ast.While():
                self._add(node, "while", [node.test], values)
                self._block([*node.body, *node.orelse], values)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    index = self._add(node, None, [item.context_expr], values)
                    if item.optional_vars is not None:
                        values.bind(item.optional_vars, item.context_expr, index)
                self._block(node.body, values)
            case ast.Try():
                handlers = [s for handler in node.handlers for s in handler.body]
                self._block([*node.body, *handlers, *node.orelse, *node.finalbody], values)
            case ast.Match():
                self._add(node, "if", [node.subject], values)
                for case in node.cases:
                    self._block(case.body, values)
            case ast.Assign():
                stored = [t for t in node.targets if isinstance(t, ast.Subscript)]
                index = self._add(node, "store" if stored else None, [node.value, *(t.slice for t in stored)], values)
                for target in node.targets:
                    values.bind(target, node.value, index)
            case ast.AnnAssign(value=ast.expr() as value):
                values.bind(node.target, value, self._add(node, None, [value], values))
            case ast.AugAssign():
                value = ast.BinOp(node.target, node.op, node.value)
                values.bind(node.target, value, self._add(node, None, [value], values))
            case ast.Return(value=ast.expr() as value):
                self._add(node, None, [value], values)
            case ast.Expr():
                if not _is_aside(node.value):
                    self._add(node, None, [node.value], values)
            case _:
                pass

    def _add(self, node: ast.stmt, head: str | None, parts: Sequence[ast.expr], values: Values) -> int | None:
        """Adds a statement and returns its index, or None if it computes nothing."""
        bag = FeatureBag(values, self._own, self._modules, self._callables)
        for part in parts:
            bag.add(part)
        if not any(name[0] in "cn" for name in bag.features):
            # A loop or condition over a plain variable is too unspecific.
            return None
        if head is not None:
            bag.head(head, parts)
        line = self._before + node.lineno
        end = self._before + (node.end_lineno or node.lineno)
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            end = max(line, min(end, self._before + body[0].lineno - 1))
        text = " ".join(part.strip() for part in self._lines[line - 1 : end])
        self._statements.append(Statement(line, text, bag.features, tuple(sorted(bag.sources))))
        return len(self._statements) - 1


def _parameters(arguments: ast.arguments) -> frozenset[str]:
    given = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    return frozenset(a.arg for a in given if a is not None) - {"self", "cls"}


def _imported(tree: ast.Module) -> frozenset[str]:
    aliases = (a for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names)
    return frozenset((alias.asname or alias.name).partition(".")[0] for alias in aliases)


def _validates(node: ast.If) -> bool:
    """Whether a condition only guards against bad input."""
    return not node.orelse and all(
        isinstance(s, (ast.Raise, ast.Assert, ast.Pass)) or (isinstance(s, ast.Expr) and _is_aside(s.value))
        for s in node.body
    )


def _is_aside(node: ast.expr) -> bool:
    """Whether an expression is a docstring, a message, a seed, or a base class constructor call."""
    if isinstance(node, ast.Constant):
        return True
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Name(id=name):
            return name in ("print", "warn", "seed_everything", "set_seed")
        case ast.Attribute(attr="__init__"):
            return True
        case ast.Attribute(value=value, attr=attribute):
            return attribute in _LOG_CALLS or (root_name(value) or "").strip("_").casefold() in _LOGGERS
        case _:
            return False
