"""Parses Python source into syntax trees. Safe to use from several threads.

Up to Python 3.12, two threads that parse at the same time may fail on valid source, because they share a depth counter.
The error is "SystemError: AST constructor recursion depth mismatch" (https://github.com/python/cpython/issues/106905).
All syntax trees in a process are therefore built in this module, one at a time. Failed parses are retried, because
Python also parses source when it prints a traceback."""

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_lock = threading.Lock()
_TRIES = 20


def syntax_tree(source: str) -> ast.Module:
    """Calls `ast.parse` without showing warnings. Raises the same errors as `ast.parse`, plus `SyntaxError` for code
    that is nested too deeply."""
    tree = _parsed(source, "exec")
    assert isinstance(tree, ast.Module)
    return tree


def expression_tree(source: str) -> ast.expr:
    """Parses a single expression. Raises the same errors as `syntax_tree`."""
    tree = _parsed(source, "eval")
    assert isinstance(tree, ast.Expression)
    return tree.body


def statements_of(source: str) -> ast.Module:
    """Returns the tree from `syntax_tree`, or an empty module if the source does not parse."""
    try:
        return syntax_tree(source)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def first_line(statement: ast.stmt) -> int:
    """Returns the first line of a statement, including decorators."""
    marks: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(mark.lineno for mark in marks)])


def last_name(node: ast.expr) -> str:
    """Returns the name after the last dot, or '' for expressions other than names and attributes."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_main_guard(statement: ast.stmt) -> bool:
    """Returns whether a statement is `if __name__ == "__main__"` or another condition on `__name__`."""
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
        except MemoryError as error:  # CPython's parser raises MemoryError when its stack is full
            raise SyntaxError("too large or nested too deeply") from error


@contextmanager
def silently() -> Iterator[None]:
    """Suppresses warnings. Only one thread at a time can do this, because warning filters apply to the whole
    process."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
