"""Parses source into syntax trees, safely from several threads.

Two threads that parse at the same time may fail on correct source (SystemError: AST constructor recursion depth
mismatch), because they share one depth counter up to Python 3.12, https://github.com/python/cpython/issues/106905. So
all trees are built here, one at a time (except in separate processes). A parse is retried, because Python also parses
source itself: once for each line of a printed traceback."""

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
    """Calls `ast.parse` without showing warnings. Raises the same errors, and `SyntaxError` for code that is nested too
    deeply."""
    with silently():
        try:
            return _parsed(source, "exec", ast.Module)
        except MemoryError as error:  # CPython's parser raises this when its stack is full
            raise SyntaxError("too large or nested too deeply") from error


def expression_tree(source: str) -> ast.expr:
    """Parses one expression, like `syntax_tree`."""
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
    """Admits one thread at a time and suppresses warnings, whose filters are per process, not per thread."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
