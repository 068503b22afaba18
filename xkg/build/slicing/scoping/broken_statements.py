"""Source of which some statements do not parse, without these."""

import ast
import re

from xkg.sandbox.evidence.python_ast import syntax_tree

_MOST = 20
_GOES_ON = re.compile(r"[\s)\]}#]|(?:elif|else|except|finally)\b|$")
_OPENED_AT = re.compile(r"on line (\d{1,9})$")


def without_broken_statements(source: str) -> tuple[str, ast.Module] | None:
    """The same lines, empty where a top-level statement does not parse, so that each other statement keeps its place,
    and their tree; None if more than 20 statements do not parse, or none does."""
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
    """The lines of the top-level statement that has a line, with its decorators."""
    start, end = at, at + 1
    while start and (_GOES_ON.match(lines[start]) or lines[start - 1].startswith("@")):
        start -= 1
    while end < len(lines) and (_GOES_ON.match(lines[end]) or lines[end - 1].startswith("@")):
        end += 1
    return start, end
