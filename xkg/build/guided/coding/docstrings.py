"""Code with the docstrings of what is not located shortened."""

import ast
from collections.abc import Collection, Iterator

from xkg.build.code.languages.python import parse_ast

_LONGEST = 5  # lines
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def with_short_docstrings(code: str, whole: Collection[str]) -> str:
    """The code with every docstring of more than five lines cut to its first paragraph, except those of `whole`
    (qualified names). Code that does not parse is returned unchanged."""
    tree = parse_ast(code)
    if tree is None:
        return code
    lines: list[str | None] = list(code.split("\n"))
    for name, node in _definitions(tree, ""):
        text = node.body[0]
        if name in whole or ast.get_docstring(node, clean=False) is None or text.end_lineno is None:
            continue
        first, last = text.lineno, text.end_lineno
        ends_line = len(node.body) == 1 or node.body[1].lineno > last
        if last - first < _LONGEST or not ends_line:
            continue
        quote = (lines[last - 1] or "").rstrip()[-3:]
        if quote not in ('"""', "'''"):
            continue
        blank = next((n for n in range(first + 1, last) if not (lines[n - 1] or "").strip()), None)
        if blank is None:
            continue
        lines[blank - 2] = f"{(lines[blank - 2] or '').rstrip()} …{quote}"
        lines[blank - 1 : last] = [None] * (last - blank + 1)
    return "\n".join(line for line in lines if line is not None)


def _definitions(node: ast.AST, inside: str) -> Iterator[tuple[str, _Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Definition):
            yield f"{inside}{child.name}", child
            yield from _definitions(child, f"{inside}{child.name}.")
