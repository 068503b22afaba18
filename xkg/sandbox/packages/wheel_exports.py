"""Decides whether a module in a wheel can define a name, by parsing its source. Runs inside the sandbox, uses only the
standard library, and runs no package code."""

import ast
from collections.abc import Callable, Collection

_MAX_MODULES = 40


class _Unknown(Exception):
    """The module's names cannot be determined from its source."""


def foreign(module: str, names: Collection[str], files: Collection[str], read: Callable[[str], bytes | None]) -> bool:
    """Whether the top-level `module` certainly defines none of `names`: the module's source binds none of `names`, and
    no name is a submodule. `files` are the paths in the wheel; `read` returns a file's bytes. False if the source is
    not conclusive (compiled modules, star imports from elsewhere, `__getattr__`, computed names)."""
    folders = {path[len(module) + 1 :].partition("/")[0] for path in files if path.startswith(f"{module}/")}
    submodules = {name.partition(".")[0] for name in folders}
    if not names or submodules & set(names):
        return False
    try:
        return not _bound(module, files, read, set()) & set(names)
    except _Unknown:
        return False


def _bound(module: str, files: Collection[str], read: Callable[[str], bytes | None], seen: set[str]) -> set[str]:
    """The names that a dotted module binds, including names from its relative star imports."""
    folder = module.replace(".", "/")
    path = next((path for path in (f"{folder}/__init__.py", f"{folder}.py") if path in files), None)
    if module in seen:
        return set()
    seen.add(module)
    source = read(path) if path else None
    if source is None or len(seen) > _MAX_MODULES:
        raise _Unknown
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _Unknown from error
    bound: set[str] = set()
    package = module if path and path.endswith("/__init__.py") else module.rpartition(".")[0]
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.Name(id="globals" | "setattr" | "exec" | "vars") | ast.Attribute(attr="modules" | "lazy_loader"):
                raise _Unknown
            case ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.Import(names=aliases):
                bound |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
            case ast.ImportFrom(module=source_module, names=aliases, level=level):
                bound |= {alias.asname or alias.name for alias in aliases}
                if any(alias.name == "*" for alias in aliases):
                    bound |= _bound(_absolute(package, source_module or "", level), files, read, seen)
            case _:
                continue
    if "__getattr__" in bound:
        raise _Unknown
    return bound


def _absolute(package: str, module: str, level: int) -> str:
    if not level:
        return module
    parts = package.split(".")[: -(level - 1) or None]
    return ".".join([*parts, module] if module else parts)
