"""Source to syntax trees, for several threads.

Two threads that make trees at once may fail for no fault of the source (SystemError: AST constructor recursion depth
mismatch): up to Python 3.12 they count their depth in one place, https://github.com/python/cpython/issues/106905. So
all trees are made here, one at a time (but for what runs in a process of its own)."""

import ast
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_one = threading.Lock()


def syntax_tree(source: str) -> ast.Module:
    """`ast.parse` without its warnings of what it reads; raises as it does."""
    with silently():
        return ast.parse(source, "<code>")


def expression_tree(source: str) -> ast.expr:
    """The same for the source of one expression."""
    with silently():
        return ast.parse(source, "<code>", mode="eval").body


@contextmanager
def silently() -> Iterator[None]:
    """One thread at a time, without warnings: their filters belong to the process, not to a thread."""
    with _one, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
