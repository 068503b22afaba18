"""Extracts the parts of a code node that show what it computes: the functions that best match the given words."""

import ast
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from xkg.sandbox.evidence.python_ast import is_main_guard, syntax_tree
from xkg.serve.answers.types import short
from xkg.store.indexes.text import word_terms, words

_PARSED = 200_000
_LONGEST_LINE = 400
_HEADS = 200
_HEAD = re.compile(r"\s*(?:async )?(?:def|class) \w+")
_PREAMBLE = re.compile(r"import |from \S+ import |#|\s*(\.\.\.)?$|__all__")
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class _Piece:
    """Lines that are shown together. `owner` is the head of the class that contains the lines, if any. `about` contains
    further words for the selection."""

    lines: Sequence[str]
    owner: str = ""
    about: str = ""

    @property
    def size(self) -> int:
        return sum(len(line) + 1 for line in self.lines)

    def nearness(self, wanted: AbstractSet[str]) -> float:
        """Returns the cosine between the piece's words and the wanted words, up to a constant factor. Returns 0 for
        `__init__`, which mostly repeats names from other functions."""
        own = terms(" ".join([*self.lines, self.about]))
        return 0 if "def __init__(" in self.lines[0] else len(own & wanted) / max(1, len(own)) ** 0.5


def excerpt(implementation: str, wanted: AbstractSet[str], characters: int) -> list[str]:
    """Returns up to about `characters` characters from the functions that best match the `wanted` terms, in source
    order. The best function is cut if it is too long. For Python, imports, comments and docstrings are omitted. The
    last line lists the omitted functions."""
    pieces = _pieces(implementation)
    chosen: dict[int, Sequence[str]] = {}
    room = characters
    for n in sorted(range(len(pieces)), key=lambda n: -pieces[n].nearness(wanted)):
        if pieces[n].size <= room:
            chosen[n] = pieces[n].lines
        elif not chosen:
            chosen[n] = _beginning(pieces[n].lines, room)
        else:
            continue
        room -= pieces[n].size
    lines: list[str] = []
    owner = ""
    for n in sorted(chosen):
        if pieces[n].owner not in ("", owner):
            lines.append(pieces[n].owner)
        owner = pieces[n].owner
        lines += chosen[n]
    left_out = [line for n, piece in enumerate(pieces) for line in piece.lines[len(chosen.get(n, ())) :]]
    if left_out:
        names = _heads(left_out)
        more = f"… {len(left_out)} more line{'s' if len(left_out) > 1 else ''}"
        lines.append(more + (f": {short(', '.join(names), _HEADS)}" if names else ""))
    return lines


def _beginning(lines: Sequence[str], characters: int) -> list[str]:
    shown: list[str] = []
    for line in lines:
        shown.append(line[:_LONGEST_LINE])
        characters -= len(shown[-1]) + 1
        if characters < 0:
            break
    return shown


def heads(implementation: str, characters: int) -> str:
    """Returns the heads of the code's functions and classes as one line."""
    return short(", ".join(_heads(implementation.splitlines())), characters)


def _heads(lines: Sequence[str]) -> list[str]:
    names = dict.fromkeys(match[0].strip() for line in lines if (match := _HEAD.match(line)))
    return [name for name in names if " __" not in name]


def terms(text: str) -> AbstractSet[str]:
    """Returns a text's distinct words, in the form used for text search."""
    return {term for word in words(text).split() for term in word_terms(word)}


def _pieces(implementation: str) -> list[_Piece]:
    if len(implementation) <= _PARSED:
        try:
            if pieces := list(_of_python(syntax_tree(implementation))):
                return pieces
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass
    lines = [line.rstrip() for line in implementation[:_PARSED].splitlines() if not _PREAMBLE.match(line)]
    return [_Piece(lines)] if lines else []


def _of_python(tree: ast.Module) -> Iterator[_Piece]:
    """Yields a module's functions, methods and the statements between them, except imports and the `__main__` block."""
    between: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) or is_main_guard(node):
            continue
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if between:
                yield _Piece(between)
                between = []
            yield from _of_class(node) if isinstance(node, ast.ClassDef) else [_function(node)]
        elif not _is_text(node):
            between += ast.unparse(node).splitlines()
    if between:
        yield _Piece(between)


def _of_class(node: ast.ClassDef) -> Iterator[_Piece]:
    head = ast.unparse(ast.ClassDef(**{**dict(ast.iter_fields(node)), "body": [ast.Pass()]})).rsplit("\n", 1)[0]
    fields = [statement for statement in node.body if not isinstance(statement, _FUNCTION) and not _is_text(statement)]
    if fields:
        yield _Piece([f"    {line}" for field in fields for line in ast.unparse(field).splitlines()], owner=head)
    for statement in node.body:
        if isinstance(statement, _FUNCTION):
            yield _function(statement, "    ", head)
    if not fields and not any(isinstance(statement, _FUNCTION) for statement in node.body):
        yield _Piece([head])


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, indent: str = "", owner: str = "") -> _Piece:
    about = ast.get_docstring(node) or ""
    for inner in ast.walk(node):
        if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _is_text(inner.body[0]):
            inner.body = inner.body[1:] or [ast.Pass()]
    lines = [indent + line for line in ast.unparse(node).splitlines() if line.strip()]
    return _Piece(lines, owner, about)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
