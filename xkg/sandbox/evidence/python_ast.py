"""Parses source into syntax trees, safely from several threads.

Two threads that parse at once may fail on correct source (SystemError: AST constructor recursion depth mismatch),
because they share one depth counter up to Python 3.12, https://github.com/python/cpython/issues/106905. So all trees
are made here, one at a time (except in separate processes). A parse is retried, because Python itself also parses: once
for each line of a printed traceback."""

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T", bound=ast.AST)
_lock = threading.Lock()
_TRIES = 20


def syntax_tree(source: str) -> ast.Module:
    """`ast.parse` without its warnings. Raises the same errors, and `SyntaxError` for code that is nested too
    deeply."""
    with silently():
        try:
            return _parsed(source, "exec", ast.Module)
        except MemoryError as error:  # CPython's parser raises this when its stack is full
            raise SyntaxError("too large or nested too deeply") from error


def expression_tree(source: str) -> ast.expr:
    """Parse one expression, as `syntax_tree` does."""
    with silently():
        try:
            return _parsed(source, "eval", ast.Expression).body
        except MemoryError as error:
            raise SyntaxError("too large or nested too deeply") from error


def _parsed(source: str, mode: str, kind: type[T]) -> T:
    for _ in range(_TRIES - 1):
        with suppress(SystemError):
            return _tree(source, mode, kind)
    return _tree(source, mode, kind)


def _tree(source: str, mode: str, kind: type[T]) -> T:
    tree = ast.parse(source, "<code>", mode)
    assert isinstance(tree, kind)
    return tree


@contextmanager
def silently() -> Iterator[None]:
    """Allows one thread at a time. Suppresses warnings, whose filters belong to the process and not to a thread."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
