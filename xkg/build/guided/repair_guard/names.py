"""Finds the public names in a program."""

import ast


def public_names(tree: ast.Module) -> set[str]:
    """Returns the functions and classes that a test can import."""
    return {
        s.name
        for s in tree.body
        if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not s.name.startswith("__")
    }
