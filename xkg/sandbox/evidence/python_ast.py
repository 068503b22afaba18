"""Parses source into syntax trees, safely from several threads.

Two threads that parse at the same time may fail on correct source (SystemError: AST constructor recursion depth
mismatch), because they share one depth counter up to Python 3.12, https://github.com/python/cpython/issues/106905. So
all trees are built here, one at a time (except in separate processes). Parsing is retried, because Python also parses
source on its own: once for each line in a printed traceback."""

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_lock = threading.Lock()
_TRIES = 20


def syntax_tree(source: str) -> ast.Module:
    """Calls `ast.parse` without showing warnings. Raises the same errors, and `SyntaxError` for code that is nested too
    deeply."""
    tree = _parsed(source, "exec")
    assert isinstance(tree, ast.Module)
    return tree


def expression_tree(source: str) -> ast.expr:
    """Parses one expression in the same way as `syntax_tree`."""
    tree = _parsed(source, "eval")
    assert isinstance(tree, ast.Expression)
    return tree.body


def statements_of(source: str) -> ast.Module:
    """The tree from `syntax_tree`; a tree without statements if the source does not parse."""
    try:
        return syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def first_line(statement: ast.stmt) -> int:
    """The first line, including decorators."""
    marks: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(mark.lineno for mark in marks)])


def last_name(node: ast.expr) -> str:
    """The name after the last dot; '' for expressions other than names and attributes."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_main_guard(statement: ast.stmt) -> bool:
    """Whether this is `if __name__ == "__main__"`, or another condition on `__name__`."""
    return isinstance(statement, ast.If) and any(
        isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test)
    )


def _parsed(source: str, mode: str) -> ast.AST:
    with silently():
        try:
            for _ in range(_TRIES - 1):
                with suppress(SystemError):
                    return ast.parse(source, "<code>", mode)
            return ast.parse(source, "<code>", mode)
        except MemoryError as error:  # CPython's parser raises this when its stack is full
            raise SyntaxError("too large or nested too deeply") from error


@contextmanager
def silently() -> Iterator[None]:
    """Admits one thread at a time and suppresses warnings, because warning filters are per process, not per thread."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
