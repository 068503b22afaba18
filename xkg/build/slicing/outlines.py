"""Outlines definitions without their bodies: signatures with defaults, class fields, and the first sentence of
docstrings."""

import ast
import re
from collections.abc import Iterator

_LONGEST = 160
_FIELD = ast.Assign | ast.AnnAssign


def outline(name: str, node: ast.stmt) -> Iterator[str]:
    """Yields the outline of a function, a constant or a class (with its fields and public methods)."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield f"{signature(node)}{_first_sentence(node)}"
        case ast.ClassDef():
            bases = ", ".join(ast.unparse(b) for b in node.bases)
            decorators = "".join(f"@{ast.unparse(d)} " for d in node.decorator_list)
            yield f"{decorators}class {name}" + (f"({bases})" if bases else "") + _first_sentence(node)
            for inner in node.body:
                if isinstance(inner, _FIELD) and not _is_hidden(inner):
                    yield f"    {_one_line(inner)}"
                elif isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and (
                    not inner.name.startswith("_") or inner.name in ("__init__", "__call__")
                ):
                    yield f"    {signature(inner)}{_first_sentence(inner)}"
        case _:
            yield _one_line(node)


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Returns a function's signature on one line, without decorators."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{'async ' * isinstance(node, ast.AsyncFunctionDef)}def {node.name}({ast.unparse(node.args)}){returns}"


def _is_hidden(field: ast.Assign | ast.AnnAssign) -> bool:
    targets = field.targets if isinstance(field, ast.Assign) else [field.target]
    return all(isinstance(t, ast.Name) and t.id.startswith("_") for t in targets)


def _one_line(node: ast.stmt) -> str:
    return " ".join(ast.unparse(node).split())[:_LONGEST]


def _first_sentence(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    first = re.split(r"(?<=[.!?])\s|\n\s*\n", ast.get_docstring(node) or "", maxsplit=1)[0]
    text = " ".join(first.split())
    return f"  # {text[:200]}" if text else ""
