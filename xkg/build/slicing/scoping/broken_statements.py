"""Removes statements that do not parse from Python source."""

import ast
import re

from xkg.sandbox.evidence.python_ast import syntax_tree

_MOST = 20
_GOES_ON = re.compile(r"[\s)\]}#]|(?:elif|else|except|finally)\b|$")
_OPENED_AT = re.compile(r"on line (\d{1,9})$")


def without_broken_statements(source: str) -> tuple[str, ast.Module] | None:
    """Returns the source and its syntax tree. Replaces top-level statements that do not parse with empty lines, which
    preserves line numbers. Returns None if 20 or more statements fail to parse, or if no statement parses."""
    lines = source.split("\n")
    for _ in range(_MOST):
        try:
            tree = syntax_tree(text := "\n".join(lines))
            return (text, tree) if tree.body else None
        except (ValueError, RecursionError, MemoryError):
            return None
        except SyntaxError as error:
            opened = _OPENED_AT.search(error.msg)
            at = int(opened[1]) if opened else error.lineno or 0
        if not 0 < at <= len(lines):
            return None
        start, end = _statement(lines, at - 1)
        if not any(lines[start:end]):
            return None
        lines[start:end] = [""] * (end - start)
    return None


def _statement(lines: list[str], at: int) -> tuple[int, int]:
    """Returns the line range of the top-level statement at a line. Includes decorators."""
    start, end = at, at + 1
    while start and (_GOES_ON.match(lines[start]) or lines[start - 1].startswith("@")):
        start -= 1
    while end < len(lines) and (_GOES_ON.match(lines[end]) or lines[end - 1].startswith("@")):
        end += 1
    return start, end
