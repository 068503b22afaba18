"""Finds every regular expression written in xkg, and how it is used."""

import ast
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import xkg

_USES = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


@dataclass
class Written:
    """A pattern. `uses` contains the methods that the code calls, and `places` contains entries `module:name` or
    `module:line`."""

    pattern: re.Pattern[Any]
    places: list[str] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)


def modules() -> list[tuple[ModuleType, ast.Module]]:
    """Yields the modules of xkg that import `re`, with their syntax trees. Other modules are not loaded, because
    scripts would run."""
    found = []
    for info in pkgutil.walk_packages(xkg.__path__, "xkg."):
        spec = importlib.util.find_spec(info.name)
        assert spec is not None
        assert spec.origin is not None
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        if any(isinstance(node, ast.Import) and any(n.name == "re" for n in node.names) for node in ast.walk(tree)):
            found.append((importlib.import_module(info.name), tree))
    return found


def written_patterns() -> tuple[list[Written], list[str]]:
    """Returns the patterns, and the locations of patterns that are assembled at run time."""
    found: dict[tuple[Any, int], Written] = {}
    late: list[str] = []
    called: dict[tuple[str, str], set[str]] = {}
    sources = modules()
    for module, tree in sources:
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _USES:
                called.setdefault((module.__name__, node.value.id), set()).add(node.attr)

    def add(pattern: re.Pattern[Any], place: str, uses: set[str]) -> None:
        one = found.setdefault((pattern.pattern, pattern.flags), Written(pattern))
        one.places.append(place)
        one.uses |= uses

    for module, tree in sources:
        for name, value in vars(module).items():
            for pattern in _inside(value):
                add(pattern, f"{module.__name__}:{name}", called.get((module.__name__, name), set()))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (use := _use(node)):
                place = f"{module.__name__}:{node.lineno}"
                try:
                    pattern = re.compile(_value(node.args[0], module), _flags(node, use, module))
                except NameError:
                    late.append(place)
                    continue
                if use != "compile":
                    add(pattern, place, {use})
                elif (pattern.pattern, pattern.flags) not in found:
                    add(pattern, place, {"match", "search"})
    for one in found.values():
        one.uses = one.uses or {"match", "search"}  # the pattern is passed on, so its uses are unknown
    return list(found.values()), late


def _inside(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3 and isinstance(value, dict):
        for each in value.values():
            yield from _inside(each, depth + 1)
    elif depth < 3 and isinstance(value, (tuple, list, set, frozenset)):
        for each in value:
            yield from _inside(each, depth + 1)


def _use(node: ast.Call) -> str | None:
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re":
        return function.attr if function.attr in ("compile", *_USES) else None
    return None


def _flags(node: ast.Call, use: str, module: ModuleType) -> int:
    at = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(use, 2)
    given = next((k.value for k in node.keywords if k.arg == "flags"), node.args[at] if len(node.args) > at else None)
    return int(_value(given, module)) if given is not None else 0


def _value(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(vars(module)))
