"""Names that a program binds and offers."""

import ast


def public_names(tree: ast.Module) -> set[str]:
    """What a module offers to its test."""
    return {
        s.name
        for s in tree.body
        if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not s.name.startswith("__")
    }


def short(text: str, longest: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
