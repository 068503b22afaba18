"""Source to syntax trees, for several threads.

Two threads that parse at once may fail with a correct source (SystemError: AST constructor recursion depth mismatch),
because up to Python 3.12 they share one depth counter, https://github.com/python/cpython/issues/106905. So all trees
are made here, one at a time (except in separate processes), and tried again where Python itself parses beside: it does
for each line of a traceback that is printed."""

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
    """`ast.parse` without its warnings; raises as it does, and `SyntaxError` for what is nested too deeply."""
    with silently():
        try:
            return _parsed(source, "exec", ast.Module)
        except MemoryError as error:  # what CPython's parser raises where its stack is full
            raise SyntaxError("too large or nested too deeply") from error


def expression_tree(source: str) -> ast.expr:
    """The same for the source of one expression."""
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
    """One thread at a time, without warnings: their filters belong to the process, not to a thread."""
    with _lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
