"""Shortens docstrings in source code."""

import ast
from collections.abc import Callable, Collection, Iterator

from xkg.build.code.languages.python import parse_ast

_LONGEST = 5  # lines
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def with_short_docstrings(code: str, whole: Collection[str]) -> str:
    """Cuts each docstring of more than five lines to its first paragraph. Keeps the docstrings of the qualified names
    in `whole`. Code that does not parse is returned unchanged."""
    return _with_cut_docstrings(code, _LONGEST, whole, lambda line: not line.strip())


def with_first_lines_of_docstrings(code: str) -> str:
    """Cuts every docstring to its first line. Code that does not parse is returned unchanged."""
    return _with_cut_docstrings(code, 1, (), lambda _: True)


def _with_cut_docstrings(code: str, least: int, whole: Collection[str], ends_at: Callable[[str], bool]) -> str:
    """Shortens docstrings of more than `least` lines. Removes the first line for which `ends_at` returns True and all
    lines after it. Always keeps the opening line."""
    tree = parse_ast(code)
    if tree is None:
        return code
    lines: list[str | None] = list(code.split("\n"))
    for name, node in _definitions(tree, ""):
        text = node.body[0]
        if ast.get_docstring(node, clean=False) is None or text.end_lineno is None:
            continue
        first, last = text.lineno, text.end_lineno
        ends_line = len(node.body) == 1 or node.body[1].lineno > last
        if last - first < least or not ends_line or name in whole:
            continue
        quote = (lines[last - 1] or "").rstrip()[-3:]
        if quote not in ('"""', "'''"):
            continue
        end = next((n for n in range(first + 1, last) if ends_at(lines[n - 1] or "")), None)
        if end is None:
            continue
        while end > first + 1 and not (lines[end - 2] or "").strip():
            end -= 1
        lines[end - 2] = f"{(lines[end - 2] or '').rstrip()} …{quote}"
        lines[end - 1 : last] = [None] * (last - end + 1)
    return "\n".join(line for line in lines if line is not None)


def _definitions(node: ast.AST, inside: str) -> Iterator[tuple[str, _Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Definition):
            yield f"{inside}{child.name}", child
            yield from _definitions(child, f"{inside}{child.name}.")
