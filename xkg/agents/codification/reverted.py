"""Builds versions of an edited file in which one change is reverted or one statement is removed. Also builds a version
that records which new operations merely return one of their operands."""

import ast
import io
import re
from collections.abc import Iterator, Set

from xkg.agents.ablation.space.python_source import Function, last_name, only_prints
from xkg.agents.codification.protected import settings
from xkg.agents.workspace.files import patches
from xkg.agents.workspace.files.edits import syntax_error
from xkg.agents.workspace.program.outline import outline
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.value import Value

RECORD = ".xkg-operations.json"
"""The suffix of the file that `guest.operations` writes next to a recorded file."""

_LEFT_OUT = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.While, ast.With)
_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul",
}  # fmt: skip


class Reverted(Value):
    """A version of an edited file. In `text`, the lines from `start_line` to `end_line` (1-based, inclusive) are
    removed or reverted to those of the starter."""

    path: str
    start_line: int
    end_line: int
    text: str


class Operation(Value):
    """An arithmetic operation in the edited file, with the source of its operands."""

    path: str
    line: int
    code: str
    operands: tuple[str, str]


class Watched(Value):
    """A version of a file that records arithmetic operations, together with a list of these operations."""

    text: str
    operations: tuple[Operation, ...]


def reverted(path: str, before: str, after: str, changed: Set[int], ran: Set[int]) -> Iterator[Reverted]:
    """Yields versions with one change reverted, and then versions with one new statement removed. Outer statements come
    first. Skips code that did not run or that only prints. Raises `SyntaxError` if `after` is not valid Python."""
    tree = syntax_tree(after)
    printing = {n for each in ast.walk(tree) if isinstance(each, ast.stmt) and only_prints(each) for n in _lines(each)}
    old, new = _with_ends(before), _with_ends(after)
    effective = ran & outline(after).steps - printing
    seen = {after}
    for start, end, top, bottom in patches.hunks(before.encode(), after.encode()):
        for first, last in _taken_back(tree, top, bottom):
            text = "".join([*new[:first], *old[start:end], *new[last:]])
            if effective & set(range(first + 1, last + 1)) and text not in seen and syntax_error(text) is None:
                seen.add(text)
                yield Reverted(path=path, start_line=first + 1, end_line=last, text=text)
    for node in ast.walk(tree):
        if not isinstance(node, _LEFT_OUT) or _is_text(node) or not set(_lines(node)) <= changed:
            continue
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        indent = new[first][: len(new[first]) - len(new[first].lstrip())]
        text = "".join([*new[:first], f"{indent}pass\n", *new[last:]])
        bare = "".join([*new[:first], *new[last:]])
        if effective & set(_lines(node)) and not {text, bare} & seen and syntax_error(text) is None:
            seen |= {text, bare}
            yield Reverted(path=path, start_line=node.lineno, end_line=last, text=text)


def watched(path: str, text: str, lines: Set[int]) -> Watched:
    """Returns a version of a file that records the arithmetic in these lines. Skips operations on settings, because a
    setting's value may be neutral (`ALPHA = 1`). Raises `SyntaxError` if the file is not valid Python."""
    tree = syntax_tree(text)
    recorder = _Recorder(path, lines, {re.findall(r"\w+", name)[-1] for name in settings({path: text})})
    tree = ast.fix_missing_locations(recorder.visit(tree))
    if not recorder.operations:
        return Watched(text=text, operations=())
    start = next((n for n, each in enumerate(tree.body) if not (_is_text(each) or _is_future(each))), len(tree.body))
    tree.body[start:start] = syntax_tree("_xkg_operation = __import__('_xkg_operations').recorder(__file__)").body
    return Watched(text=ast.unparse(tree), operations=tuple(recorder.operations))


class _Recorder(ast.NodeTransformer):
    def __init__(self, path: str, lines: Set[int], named: Set[str]) -> None:
        self.operations: list[Operation] = []
        self._path = path
        self._lines = lines
        self._settings = named

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        name = _OPERATORS.get(type(node.op))
        operands = (node.left, node.right)
        exempt = _guards(node) or any(_is_string(each) or last_name(each) in self._settings for each in operands)
        if node.lineno not in self._lines or name is None or exempt:
            return self.generic_visit(node)
        code = (ast.unparse(node.left)[:60], ast.unparse(node.right)[:60])
        number = len(self.operations)
        self.operations.append(
            Operation(path=self._path, line=node.lineno, code=ast.unparse(node)[:100], operands=code)
        )
        constant = [isinstance(each, ast.Constant) for each in operands]
        given = [ast.Constant(number), ast.Constant(name), *map(self.visit, operands), *map(ast.Constant, constant)]
        return ast.copy_location(ast.Call(ast.Name("_xkg_operation", ast.Load()), given, []), node)


def _taken_back(tree: ast.Module, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yields the lines of a change (0-based, end exclusive). Then yields only its lines before and after the new
    top-level statements, because other changes may need these statements."""
    yield first, last
    whole = [range(_first_line(each) - 1, each.end_lineno or each.lineno) for each in tree.body]
    whole = [each for each in whole if first <= each.start and each.stop <= last]
    if whole:
        yield from ((a, b) for a, b in ((first, whole[0].start), (whole[-1].stop, last)) if a < b)


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return min([node.lineno, *(each.lineno for each in decorators)])


def _with_ends(text: str) -> list[str]:
    return io.StringIO(text, newline="\n").readlines()


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _guards(node: ast.BinOp) -> bool:
    """Returns whether an operation adds a non-zero number, as in `log(p + 1e-300)`. The result can equal the other
    operand only through rounding."""
    added = [each.value for each in (node.left, node.right) if isinstance(each, ast.Constant)]
    return isinstance(node.op, ast.Add | ast.Sub) and any(added)
