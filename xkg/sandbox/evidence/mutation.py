"""Generates changes to a module that a good test should detect: mutants, and stubs of public functions.

The operators are standard in mutation testing (DeMillo, Lipton and Sayward, "Hints on test data selection", 1978). The
set of operators follows Offutt et al., "An experimental determination of sufficient mutant operators", 1996. A mutant
changes an arithmetic or logical operator, negates a condition or comparison, changes a sign or constant, or removes a
statement. A call to one of the module's own functions is also replaced by its first argument, which drops one step of a
composition. Code that a test cannot be expected to check (messages, logging, annotations, parameter defaults,
docstrings) is not mutated. Code whose removal always causes an error is not removed either, because such mutants would
only inflate the score. Such code is the first binding of a name, a call of `super().__init__()`, or a whole `return`
statement. Existing libraries (mutmut, cosmic-ray) mutate a project on disk for their own test runner, and do not remove
statements."""

import ast
import contextlib
import random
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from xkg.sandbox.evidence.python_ast import first_line, is_main_guard, syntax_tree

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
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
_TALKERS = {"logging", "logger", "log", "warnings"}
_TALK = {"debug", "info", "warning", "warn", "error", "exception", "critical", "log"}
_DESCRIPTIVE = {"__repr__", "__str__", "extra_repr"}
_LONGEST = 160
STATEMENT_LEFT_OUT = " left out"
"""The suffix of `Change.what` for a change that removes a whole statement."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Change:
    """Replaces bytes `start` to `end` (exclusive) of a module with `text`. `text` has as many lines as the replaced
    bytes, so line numbers in tracebacks match the source. `lines` (first, last) span the enclosing statement. The
    change has an effect only if one of these lines is executed."""

    line: int
    lines: tuple[int, int]
    start: int
    end: int
    text: str
    what: str

    def apply(self, source: str) -> str:
        """Returns the changed module."""
        data = plain_newlines(source).encode("utf-8", "surrogatepass")
        changed = data[: self.start] + self.text.encode("utf-8", "surrogatepass") + data[self.end :]
        return changed.decode("utf-8", "surrogatepass")

    def touches(self, lines: Set[int]) -> bool:
        return not lines.isdisjoint(range(self.lines[0], self.lines[1] + 1))


def plain_newlines(source: str) -> str:
    """Normalises line endings, so that line numbers match the parser's."""
    return source.replace("\r\n", "\n").replace("\r", "\n")


def stubs(source: str, among: Set[int] | None = None) -> list[Change]:
    """Returns one change for each public function, in order. The change replaces the function's body with `return
    None`. The module must parse. If `among` is given, only functions that begin on one of these lines are included.

    Functions and methods are public if their names do not begin with an underscore. Special methods are also public,
    unless they only describe an object (such as `__repr__`). Functions without a real body (abstract methods,
    overloads, `pass`, a single `raise`) are skipped."""
    text = _Text(source)
    changes = []
    for name, function in _public(text.tree.body):
        if among is not None and function.lineno not in among:
            continue
        body = function.body[1:] if _is_docstring(function.body[0]) else function.body
        if not body or all(_says_nothing(statement) for statement in body):
            continue
        lines = (first_line(body[0]), body[-1].end_lineno or function.lineno)
        start, end = text.offset(lines[0], body[0].col_offset), text.end(body[-1])
        nothing = _as_long("return None", "None", lines[1] - lines[0])
        changes.append(Change(function.lineno, lines, start, end, nothing, f"the body of {name} left out"))
    return changes


def body_lines(source: str) -> set[int]:
    """Returns the executable lines inside a module's functions, for coverage. The module must parse."""
    tree = _Text(source).tree
    lines = set()
    for function in ast.walk(tree):
        if isinstance(function, _Function):
            body = function.body[1:] if _is_docstring(function.body[0]) else function.body
            lines |= {s.lineno for top in body for s in ast.walk(top) if isinstance(s, ast.stmt) and _runs(s)}
    return lines


def statements_run(source: str, lines: Set[int]) -> set[int]:
    """Returns the executed lines, plus the first line of each statement that contains an executed line. For a
    multi-line assertion, Python reports a later line as executed. The module must parse."""
    found = set(lines)
    for node in ast.walk(_Text(source).tree):
        if isinstance(node, ast.stmt):
            inner = [s.lineno for s in ast.iter_child_nodes(node) if isinstance(s, ast.stmt)]
            last = min(inner) - 1 if inner else node.end_lineno or node.lineno
            if not lines.isdisjoint(range(node.lineno, last + 1)):
                found.add(node.lineno)
    return found


def mutants(source: str, lines: Set[int], seed: str) -> Iterator[Change]:
    """Yields each mutant on `lines` once. `seed` determines the order, which alternates between lines so that any
    prefix of the sequence is a fair sample. The module must parse."""
    text = _Text(source)
    sites = _Sites(text)
    sites.visit(text.tree)
    by_line: dict[int, list[Change]] = {}
    for change in sites.changes:
        if change.touches(lines):
            by_line.setdefault(change.line, []).append(change)
    order = random.Random(seed)
    queues = [by_line[line] for line in sorted(by_line)]
    order.shuffle(queues)
    for queue in queues:
        order.shuffle(queue)
    original = _shape(text.tree)
    while queues:
        for queue in queues:
            change = queue.pop()
            if _differs(change.apply(text.source), original):
                yield change
        queues = [queue for queue in queues if queue]


def _differs(changed: str, original: str) -> bool:
    try:
        return not original or _shape(syntax_tree(changed)) != original
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _shape(tree: ast.Module) -> str:
    try:
        return ast.dump(tree)
    except RecursionError:
        return ""


class _Text:
    def __init__(self, source: str) -> None:
        self.source = plain_newlines(source)
        self.tree = syntax_tree(self.source)
        self._starts = [0]
        for line in self.source.encode("utf-8", "surrogatepass").split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)


class _Sites(ast.NodeVisitor):
    def __init__(self, text: _Text) -> None:
        self.changes: list[Change] = []
        self._text = text
        self._lines = (1, 1)
        self._bound: set[str] = set()
        self._last: set[ast.stmt] = set()  # the last statements of loop bodies
        self._constructing = False
        self._functions = {s.name for s in text.tree.body if isinstance(s, _Function)}

    def _replace(self, node: ast.expr, by: ast.expr) -> None:
        text = ast.unparse(by)
        self._add(node, f"({text})", f"{_short(ast.unparse(node))} became {_short(text)}")

    def _drop(self, node: ast.stmt) -> None:
        nothing = "pass" if node.lineno == node.end_lineno else "None"
        self._add(node, nothing, f"{_short(ast.unparse(node))}{STATEMENT_LEFT_OUT}")

    def _add(self, node: ast.expr | ast.stmt, text: str, what: str, last: str = "") -> None:
        text = _as_long(text, last or text, (node.end_lineno or node.lineno) - node.lineno)
        start = self._text.offset(node.lineno, node.col_offset)
        self.changes.append(Change(node.lineno, self._lines, start, self._text.end(node), text, what))

    def visit(self, node: ast.AST) -> None:
        with contextlib.suppress(RecursionError):  # skip expressions that are nested too deeply
            self._visit(node)

    def _visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            inner = [s.lineno for s in ast.iter_child_nodes(node) if isinstance(s, ast.stmt)]
            last = min(inner) - 1 if inner else node.end_lineno or node.lineno
            self._lines = (node.lineno, max(node.lineno, last))
        super().visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skips f-strings, because columns inside f-strings are wrong before Python 3.12, and most f-strings are
        messages."""

    def visit_Raise(self, node: ast.Raise) -> None: ...
    def visit_Assert(self, node: ast.Assert) -> None: ...
    def visit_Import(self, node: ast.Import) -> None: ...
    def visit_ImportFrom(self, node: ast.ImportFrom) -> None: ...

    def visit_Call(self, node: ast.Call) -> None:
        if _talks(node):
            return
        match node:
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in self._functions:
                if not isinstance(first, ast.Starred):
                    self._replace(node, first)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_FunctionDef(self, node: _Function) -> None:
        outer = self._bound, self._constructing
        arguments = node.args
        parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        self._bound = {argument.arg for argument in parameters if argument is not None}
        self._constructing = node.name == "__init__"
        for statement in node.body:
            self.visit(statement)
        self._bound, self._constructing = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_BinOp(self, node: ast.BinOp) -> None:
        joins = (ast.JoinedStr, ast.List, ast.Tuple)
        if not any(isinstance(side, joins) or _is_text(side) for side in (node.left, node.right)):
            self._replace(node, ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for i, operator in enumerate(node.ops):
            operators = [*node.ops[:i], NEGATED[type(operator)](), *node.ops[i + 1 :]]
            self._replace(node, ast.Compare(node.left, operators, node.comparators))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._replace(node, ast.BoolOp(other, node.values))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub) and (value := _number(node.operand)) is not None:
            self._replace(node, ast.Constant(_other_number(-value)))
            return
        if isinstance(node.op, (ast.Not, ast.USub)):
            self._replace(node, node.operand)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not is_main_guard(node):
            self._negate(node.test)
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def _negate(self, test: ast.expr) -> None:
        if not isinstance(test, (ast.Compare, ast.BoolOp, ast.Constant)) and not _is_not(test):
            self._replace(test, ast.UnaryOp(ast.Not(), test))

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, ast.Constant(not node.value))
        elif (value := _number(node)) is not None:
            self._replace(node, ast.Constant(_other_number(value)))

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not _talks(node.value) and not _constructs_base(node.value):
            self._drop(node)
            self.generic_visit(node.value)
            return
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._drop(node)
        target, operator = ast.unparse(node.target), type(node.op)
        changed = ast.AugAssign(node.target, _ARITHMETIC[operator](), node.value)
        what = f"{_short(ast.unparse(node))} became {_short(ast.unparse(changed))}"
        self._add(node, ast.unparse(changed), what, ast.unparse(changed.value))
        self._bound.add(target)
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        stored = {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name) and _is_stored(n)}
        if stored <= self._bound and names and not self._constructing:
            self._drop(node)
        self._bound |= stored
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._drop(node)

    def visit_For(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        self._last |= set(_last(node.body))
        if isinstance(node, ast.While):
            self._negate(node.test)
        self.generic_visit(node)

    visit_AsyncFor = visit_For
    visit_While = visit_For

    def visit_Continue(self, node: ast.Continue) -> None:
        if node not in self._last:
            self._drop(node)


def _last(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields the statements that may be the last to run in a block."""
    if body:
        yield body[-1]
        if isinstance(body[-1], ast.If):
            yield from _last(body[-1].body)
            yield from _last(body[-1].orelse)


def _public(body: Iterable[ast.stmt], owner: str = "") -> Iterator[tuple[str, _Function]]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                special = owner and name.startswith("__") and name.endswith("__") and name not in _DESCRIPTIVE
                marks = {ast.unparse(mark).rpartition(".")[2] for mark in statement.decorator_list}
                public = (special or not name.startswith("_")) and name not in _DESCRIPTIVE
                if public and marks.isdisjoint({"abstractmethod", "overload"}):
                    yield f"{owner}{name}", statement
            case ast.ClassDef(name=name, body=inner) if not name.startswith("_"):
                yield from _public(inner, f"{owner}{name}.")
            case ast.If(body=inner, orelse=other) if not is_main_guard(statement):
                yield from _public([*inner, *other], owner)
            case ast.Try(body=inner, orelse=other, finalbody=last):
                yield from _public([*inner, *other, *last], owner)


def _as_long(text: str, last: str, lines: int) -> str:
    """Pads `text` to `lines` line breaks by putting its final expression, `last`, in parentheses and adding line breaks
    after it."""
    more = lines - text.count("\n")
    return text if more <= 0 else f"{text.removesuffix(last)}({last}" + "\n" * more + ")"


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and _is_text(statement.value)


def _says_nothing(statement: ast.stmt) -> bool:
    match statement:
        case (
            ast.Pass()
            | ast.Raise()
            | ast.Expr(value=ast.Constant())
            | ast.Return(value=None | ast.Constant(value=None))
        ):
            return True
        case _:
            return False


def _runs(statement: ast.stmt) -> bool:
    return not isinstance(statement, (ast.Global, ast.Nonlocal)) and not _is_docstring(statement)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _is_not(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _talks(call: ast.Call) -> bool:
    """Returns whether a call only logs, warns or prints."""
    called = call.func
    if isinstance(called, ast.Attribute) and isinstance(called.value, (ast.Name, ast.Attribute)):
        owner = called.value.id if isinstance(called.value, ast.Name) else called.value.attr
        return called.attr in _TALK and owner.strip("_").casefold() in _TALKERS
    return isinstance(called, ast.Name) and called.id in ("print", "warn")


def _constructs_base(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"


def _number(node: ast.expr) -> int | float | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _other_number(value: int | float) -> int | float:
    return value + 1 if value + 1 != value else value / 2


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
