"""Parses Python files, and converts positions in their syntax trees to character offsets."""

import ast
import re
from collections.abc import Iterator, Set
from functools import cached_property

from xkg.agents.ablation.candidates import Place, Replacement
from xkg.agents.ablation.mutation import tree_of

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
Function = ast.FunctionDef | ast.AsyncFunctionDef
FORMATS = frozenset(
    "print str repr format round float int item write writerow dump dumps append info debug log extend tolist".split()
)
"""Functions that print, store or write a value unchanged."""


class PythonSource:
    """A Python file with its text and syntax tree. Raises `SyntaxError` if the text is not valid Python."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = tree_of(text)
        self._lines = [match[0] for match in _LINE.finditer(text)]
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Returns the start and end of a node as character offsets. The end is exclusive."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        """Converts a position in the syntax tree to a character offset. The tree's columns count UTF-8 bytes."""
        text = self._lines[line - 1]
        return self._starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))

    def code(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def replaced(self, node: ast.expr | ast.stmt, new: str) -> Replacement:
        start, end = self.span(node)
        return Replacement(path=self.path, start=start, end=end, old=self.text[start:end], new=new)

    def place(self, node: ast.expr | ast.stmt) -> Place:
        return Place(
            path=self.path,
            start_line=node.lineno,
            end_line=node.end_lineno or node.lineno,
            symbol=self.symbol_at(node.lineno),
        )

    @cached_property
    def functions(self) -> list[tuple[str, Function]]:
        """Returns all functions with their qualified names. Outer functions come first."""
        return list(_functions(self.tree, ""))

    def symbol_at(self, line: int) -> str:
        """Returns the name of the innermost function around a line, or ''."""
        inside = [name for name, f in self.functions if f.lineno <= line <= (f.end_lineno or f.lineno)]
        return inside[-1] if inside else ""

    def statements(self) -> Iterator[ast.stmt]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt):
                yield node


def _functions(node: ast.AST, within: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield within + child.name, child
            yield from _functions(child, f"{within}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{within}{child.name}.")
        elif isinstance(child, ast.If | ast.Try | ast.With | ast.For | ast.While):
            yield from _functions(child, within)


def defaults_of(function: Function) -> Iterator[tuple[ast.arg, ast.expr]]:
    positional = [*function.args.posonlyargs, *function.args.args]
    defaults = function.args.defaults
    yield from zip(positional[len(positional) - len(defaults) :], defaults, strict=True)
    named = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    yield from ((argument, default) for argument, default in named if default is not None)


def words_of(name: str) -> list[str]:
    """Splits an identifier into lower-case words. For example, `lossWeight_2` becomes loss, weight and 2."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)]


def names_in(node: ast.AST) -> set[str]:
    """Returns the names that a node reads. Attributes and keys have a leading dot: `args.beta` yields `args` and
    `.beta`."""
    named = ((child, last_name(child)) for child in ast.walk(node))
    return {name if isinstance(child, ast.Name) else f".{name}" for child, name in named if name}


def last_name(node: ast.AST) -> str:
    """Returns the last part of a name. For example, returns `c` for `a.b.c`, `a["c"]` and `c`. Returns '' for other
    nodes."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""


def root_name(node: ast.AST) -> str:
    """Returns the name at the start of an expression, or ''. For example, returns `a` for `a.b(c)[d].e` and `a /
    "b"`."""
    while True:
        match node:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Call(func=inner) | ast.BinOp(left=inner):
                node = inner
            case _:
                return node.id if isinstance(node, ast.Name) else ""


def factors(node: ast.expr) -> Iterator[ast.expr]:
    """Yields the factors and divisors of a product in order. Yields the expression itself if it is not a product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        yield from factors(node.left)
        yield from factors(node.right)
    else:
        yield node


def draws(node: ast.AST) -> bool:
    """Returns whether an expression calls a function that draws random numbers, judging by the function's name."""
    return isinstance(node, ast.Call) and bool(re.search("rand|uniform|choice|sample", ast.unparse(node.func)))


def only_prints(statement: ast.stmt, functions: Set[str] = FORMATS - {"append", "extend"}) -> bool:
    """Returns whether a statement only prints or writes values, by calling one of the `functions`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) in functions
