"""Represents a program's statements as bags of operations for comparison.

Statements that compute the same value share operations, even if they differ in variable names or keyword arguments.
Ignores imports, signatures, annotations, docstrings, input validation, logging, seeds, devices and stored
parameters."""

import ast
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xkg.build.code.languages.python import parse_ast
from xkg.build.similarity.operations import Function, operations

_LOGGERS = frozenset("logging logger log warnings writer wandb tqdm pbar progress".split())
_LOG_CALLS = frozenset(
    "debug info warning warn error exception critical log print add_scalar add_scalars set_description set_postfix"
    " manual_seed manual_seed_all seed simplefilter filterwarnings".split()
)


@dataclass
class Statement:
    """A statement that computes something, with its first line (1-based), text and operation counts. For a compound
    statement, the text contains only the head."""

    line: int
    text: str
    features: Counter[str]
    weight: float = field(init=False)

    def __post_init__(self) -> None:
        self.weight = sum(weight_of(name) * n for name, n in self.features.items())


def weight_of(feature: str) -> float:
    """Returns the weight of an operation. Named calls weigh most; constants, pairs and calls to own names weigh
    least."""
    return {"c": 1.5, "n": 1.0, "o": 0.5, "p": 0.5, "k": 0.5}[feature[0]]


def statements(source: str) -> list[Statement]:
    """Returns the statements in a program that compute something, in order. If the source does not parse as a whole, as
    is common for file excerpts, parses it in chunks and skips invalid chunks."""
    results: list[Statement] = []
    for first, tree in _pieces(source):
        _Reader(tree, source.split("\n"), first, results).read()
    return results


# --- parsing incomplete modules


def _pieces(source: str) -> Iterator[tuple[int, ast.Module]]:
    """Yields the syntax tree of each chunk of the source, paired with the number of lines before it."""
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    whole = parse_ast(source)
    if whole is not None:
        yield 0, whole
        return
    lines = source.split("\n")
    for start, end in _blocks(lines):
        yield from _parsed_runs(lines, start, end)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields runs of lines separated by unindented comments (such as excerpt headings), fences or lines of dots."""
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
    elif end - start > 1:  # the remaining lines may parse without the first line
        yield from _parsed_runs(lines, start + 1, end)


# --- from syntax trees to operations


class _Reader:
    """Adds the statements in a syntax tree to `results`."""

    def __init__(
        self,
        tree: ast.Module,
        lines: Sequence[str],
        before: int,
        results: list[Statement],
    ) -> None:
        self._tree = tree
        self._lines = lines
        self._before = before
        self._statements = results
        # names defined by the program itself are arbitrary
        self._own = set[str]()
        for node in ast.walk(tree):
            if isinstance(node, Function | ast.ClassDef):
                self._own.add(node.name)
            elif isinstance(node, ast.arg):
                self._own.add(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._own.add(node.id)

    def read(self) -> None:
        try:
            self._block(self._tree.body)
        except RecursionError:  # keep the statements read so far
            return

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.If() if _validates(node):
                self._block(node.orelse)
                return
            case ast.If() if not _tests_presence(node.test):
                self._add(node, "nif", node.test)
            case ast.For() | ast.AsyncFor():
                self._add(node, "nfor", node.iter)
            case ast.While():
                self._add(node, "nwhile", node.test)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._add(node, "", item.context_expr)
            case ast.Match():
                self._add(node, "nif", node.subject)
            case ast.Assign() | ast.AnnAssign(value=ast.expr()) | ast.Return(value=ast.expr()):
                targets = node.targets if isinstance(node, ast.Assign) else []
                self._add(node, "", node.value, *(t.slice for t in targets if isinstance(t, ast.Subscript)))
            case ast.AugAssign():
                self._add(node, "", ast.BinOp(node.target, node.op, node.value))
            case ast.Expr() if not _is_aside(node.value):
                self._add(node, "", node.value)
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            for inner in getattr(node, name, ()):
                self._block(inner.body if isinstance(inner, ast.ExceptHandler | ast.match_case) else [inner])

    def _add(self, node: ast.stmt, head: str, *parts: ast.expr | None) -> None:
        """Adds a statement if it computes something."""
        found: Counter[str] = Counter()
        for part in parts:
            found += operations(part, self._own) if part is not None else Counter()
        if not any(name[0] in "cn" for name in found):
            # Too unspecific to compare, such as a loop over a plain variable or a call to one of the program's own
            # functions.
            return
        found += Counter([head] if head else [])
        line = self._before + node.lineno
        end = self._before + (node.end_lineno or node.lineno)
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            end = max(line, min(end, self._before + body[0].lineno - 1))
        text = " ".join(part.strip() for part in self._lines[line - 1 : end])
        self._statements.append(Statement(line, text, found))


def _validates(node: ast.If) -> bool:
    """Returns whether a condition only guards against bad input."""
    return not node.orelse and all(
        isinstance(s, (ast.Raise, ast.Assert, ast.Pass)) or (isinstance(s, ast.Expr) and _is_aside(s.value))
        for s in node.body
    )


def _is_aside(node: ast.expr) -> bool:
    """Returns whether an expression is a docstring, a message, a seed or a call to a base class constructor."""
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
            while isinstance(value, ast.Attribute):
                value = value.value
            return attribute in _LOG_CALLS or getattr(value, "id", "").strip("_").casefold() in _LOGGERS
        case _:
            return False


def _tests_presence(test: ast.expr) -> bool:
    """Returns whether a test computes nothing, as in `x is None`, `isinstance(x, …)` and `hasattr(…)`."""
    match test:
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr" | "callable")):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _tests_presence(operand)
        case _:
            return False
