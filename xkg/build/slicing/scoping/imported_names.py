"""Finds the names that code uses from each imported package. These names distinguish packages with the same module
name."""

import ast
import sys
from collections.abc import Iterable

from xkg.build.slicing.scoping.broken_statements import without_broken_statements


def imported_packages(sources: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Returns `imported_names` without the standard library and without `implementation`, the module under test."""
    used = imported_names(sources)
    return {name: used[name] for name in used.keys() - {"implementation", *sys.stdlib_module_names}}


def imported_names(sources: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Maps each top-level module that the sources import to a sorted list of the names that they use directly under it.
    Skips sources that do not parse.

    `from a import b`, `from a.b import c`, `import a.b`, and `a.b` after `import a` all yield `b` for `a`. The list is
    empty if a star import hides the names."""
    found: dict[str, set[str]] = {}
    stars: set[str] = set()
    for source in sources:
        if (parsed := without_broken_statements(source)) is None:
            continue
        _, tree = parsed
        bound: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top, _, rest = alias.name.partition(".")
                    found.setdefault(top, set()).update({rest.partition(".")[0]} - {""})
                    if not (rest and alias.asname):  # `import a.b as c` binds b
                        bound[alias.asname or top] = top
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                top, _, rest = node.module.partition(".")
                names = {rest.partition(".")[0]} if rest else {alias.name for alias in node.names}
                stars |= {top} if "*" in names else set()
                found.setdefault(top, set()).update(names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound:
                found[bound[node.value.id]].add(node.attr)
    return {top: () if top in stars else tuple(sorted(names)) for top, names in sorted(found.items())}
