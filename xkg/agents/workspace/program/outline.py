"""Finds the executable lines of a Python file."""

import ast

from xkg.sandbox.evidence.python_ast import silently, syntax_tree
from xkg.value import Value

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)


class Outline(Value):
    """A file's executable lines. `steps` excludes lines that run when the file is imported: imports, docstrings, and
    the headers of functions and classes."""

    executable: frozenset[int] = frozenset()
    steps: frozenset[int] = frozenset()


def outline(text: str) -> Outline:
    """Returns the outline of Python text. The outline is empty if the text is not valid Python."""
    try:
        tree = syntax_tree(text)
        with silently():
            executable = _executable(text)
    except _NO_PYTHON:
        return Outline()
    return Outline(executable=executable, steps=executable - _passed(tree))


def _executable(text: str) -> frozenset[int]:
    waiting = [compile(text, "file", "exec", dont_inherit=True)]
    lines: set[int] = set()
    while waiting:
        code = waiting.pop()
        lines |= {line for *_, line in code.co_lines() if line}
        waiting += [constant for constant in code.co_consts if hasattr(constant, "co_lines")]
    return frozenset(lines)


def _passed(tree: ast.Module) -> set[int]:
    passed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, _DEFINITIONS):
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            passed.update(range(start, max(node.lineno + 1, node.body[0].lineno)))
        elif isinstance(node, (ast.Import, ast.ImportFrom)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            passed.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return passed
