"""Symbols that stand beside others by their names: `Beta2` beside `Beta1`, and what one table of a file lists."""

import ast
import re
from collections.abc import Iterable, Sequence

from xkg.build.code.codebase import Codebase, Module
from xkg.build.code.languages.python import parse_ast

_DIGITS = re.compile(r"\d+")
_KINDS = frozenset({"function", "method", "class"})


def siblings(codebase: Codebase, symbols: Sequence[str]) -> tuple[str, ...]:
    """The functions, methods and classes (ids, in the order of the files) whose names differ from one of `symbols` in
    digits alone, within the same class or file. Raises `UnknownIdError` as `Codebase` does."""
    known = codebase.symbols()
    given = {known[identity].symbol.id for identity in symbols}
    stems = {stem for identity in given if (stem := _stem(known[identity].symbol.kind, identity))}
    return tuple(i for i, s in known.items() if i not in given and _stem(s.symbol.kind, i) in stems)


def listed_beside(codebase: Codebase, symbols: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """By the name of a table (a dictionary, list or tuple at the top of a file) that lists one of `symbols`, the names
    of the other functions and classes of the file in it, in order. Raises `UnknownIdError` as `Codebase` does."""
    known = codebase.symbols()
    found: dict[str, tuple[str, ...]] = {}
    for module in codebase.modules:
        top = {s.symbol.qualified_name for s in module.symbols if s.symbol.kind in ("function", "class")}
        ours = {known[i].symbol.qualified_name for i in symbols if known[i].symbol.path == module.path}
        for table, names in _tables(module) if ours & top else ():
            others = tuple(name for name in dict.fromkeys(names) if name in top and name not in ours)
            if others and not ours.isdisjoint(names):
                found[table] = others
    return found


def _stem(kind: str, identity: str) -> str | None:
    """What a symbol shares with its siblings; None for a name without digits."""
    place, _, name = identity.rpartition("::")
    if kind not in _KINDS or not _DIGITS.search(name.rpartition(".")[2]):
        return None
    owner, _, last = name.rpartition(".")
    return f"{kind} {place}::{owner}.{_DIGITS.sub('#', last)}"


def _tables(module: Module) -> Iterable[tuple[str, list[str]]]:
    tree = parse_ast(module.text) if module.language == "python" else None
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            listed = value.values if isinstance(value, ast.Dict) else getattr(value, "elts", [])
            yield node.targets[0].id, [each.id for each in listed if isinstance(each, ast.Name)]
