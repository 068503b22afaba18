"""Whether a module of a wheel can have a name, told from its source: nothing of it is run. Runs inside the box, with
the standard library only."""

import ast
from collections.abc import Callable, Collection

_MAX_MODULES = 40


class _Unknown(Exception):
    """The module's names cannot be told from its source."""


def foreign(module: str, names: Collection[str], files: Collection[str], read: Callable[[str], bytes | None]) -> bool:
    """Whether the top-level `module` surely has none of `names` (of which there are some): neither does its source bind
    one, nor is one a submodule. `files` are the paths in the wheel, `read` gives one's bytes. What cannot be told
    (compiled modules, stars from elsewhere, `__getattr__`, names set by computation) is taken to be there."""
    folders = {path[len(module) + 1 :].partition("/")[0] for path in files if path.startswith(f"{module}/")}
    submodules = {name.partition(".")[0] for name in folders}
    if not names or submodules & set(names):
        return False
    try:
        return not _bound(module, files, read, set()) & set(names)
    except _Unknown:
        return False


def _bound(module: str, files: Collection[str], read: Callable[[str], bytes | None], seen: set[str]) -> set[str]:
    """Names at the top of a dotted module, those of its relative star imports too."""
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
    found: set[str] = set()
    package = module if path and path.endswith("/__init__.py") else module.rpartition(".")[0]
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id="globals" | "setattr" | "exec" | "vars") | ast.Attribute(attr="modules" | "lazy_loader"):
                raise _Unknown
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Import(names=aliases):
                found |= {alias.asname or alias.name.partition(".")[0] for alias in aliases}
            case ast.ImportFrom(module=source_module, names=aliases, level=level):
                found |= {alias.asname or alias.name for alias in aliases}
                if any(alias.name == "*" for alias in aliases):
                    found |= _bound(_absolute(package, source_module or "", level), files, read, seen)
            case _:
                continue
    if "__getattr__" in found:
        raise _Unknown
    return found


def _absolute(package: str, module: str, level: int) -> str:
    if not level:
        return module
    parts = package.split(".")[: -(level - 1) or None]
    return ".".join([*parts, module] if module else parts)
