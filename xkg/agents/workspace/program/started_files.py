"""Finds the Python files that a command runs."""

import ast
from collections.abc import Iterator, Mapping


def started_files(trees: Mapping[str, ast.AST], command: str) -> set[str]:
    """Returns the paths of the Python files that a command mentions, and of the files that they import. A name matches
    every file whose path ends with it. `trees` maps paths to syntax trees."""
    by_end: dict[str, list[str]] = {}
    for path in trees:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        for start in range(len(parts)):
            by_end.setdefault(".".join(parts[start:]), []).append(path)
    words = [word.strip("\"'").removeprefix("./").removesuffix(".py").replace("/", ".") for word in command.split()]
    waiting = [path for word in words for path in by_end.get(word, ())]
    found: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [each for module in _imported(trees[path]) for each in by_end.get(module, ())]
    return found


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yields the dotted modules that a file may import, including their parent packages."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module=module, names=names):
                modules = [f"{module}.{alias.name}" if module else alias.name for alias in names]
            case _:
                continue
        for module in modules:
            parts = module.split(".")
            yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))
