"""Names that a program binds and offers."""

import ast


def public_names(tree: ast.Module) -> set[str]:
    """What a module offers to its test."""
    return {
        s.name
        for s in tree.body
        if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not s.name.startswith("__")
    }


def bound_names(tree: ast.Module) -> set[str]:
    """Names that a program binds itself, imports from `implementation` aside."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.ImportFrom(module=module, names=names) if module != "implementation":
                found |= {a.asname or a.name for a in names}
            case _:
                continue
    return found


def short(text: str, longest: int = 120) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
