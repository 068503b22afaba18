"""Collects the calls that a run made. A default has no effect if every call overrides it."""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from xkg.agents.ablation.space.python_source import PythonSource, last_name


class Call(NamedTuple):
    positions: tuple[str, ...]
    keywords: Mapping[str, str]
    open: bool  # the call uses `*` or `**`, which may pass anything


class Calls:
    """The calls by function name. `executed` maps files to the lines that ran, or is None if these are unknown.
    `signatures` is the result of `signatures_of`."""

    def __init__(
        self,
        sources: Sequence[PythonSource],
        executed: Mapping[str, frozenset[int]] | None,
        signatures: Mapping[str, Set[tuple[str, ...]]],
    ) -> None:
        self._signatures = signatures
        self._calls: dict[str, list[Call]] = {}
        self._handed_on: set[str] = set()
        classes = [n for source in sources for n in ast.walk(source.tree) if isinstance(n, ast.ClassDef)]
        bases = {node.name: [last_name(base) for base in node.bases] for node in classes}
        files = {source.path.rpartition("/")[2].removesuffix(".py") for source in sources}
        for source in sources:
            ran = None if executed is None else executed.get(source.path, frozenset())
            known_as = {
                each.asname: each.name
                for node in ast.walk(source.tree)
                if isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] in files
                for each in node.names
            }
            for name, node in _calls(source.tree, "", bases):
                if ran is None or node.lineno in ran:
                    self._calls.setdefault(known_as.get(name, name), []).append(_of(node))
            plain = {id(inner) for node in ast.walk(source.tree) for inner in _no_values(node)}
            self._handed_on |= {
                last_name(node)
                for node in ast.walk(source.tree)
                if isinstance(node, ast.Name | ast.Attribute) and id(node) not in plain
            }
        for made in classes:
            if not any(isinstance(f, ast.FunctionDef) and f.name == "__init__" for f in made.body):
                for base in bases[made.name]:  # calling the class runs the `__init__` of its base
                    self._calls.setdefault(base, []).extend(self._calls.get(made.name, ()))

    def override(self, function: str, parameter: str, keys: Set[str]) -> bool:
        """Returns whether every call to a function passes this parameter. Assumes that a call with `**` passes every
        parameter whose name is in `keys` (the keys of dictionaries in the code). Returns False if the function itself
        is passed as a value, because unknown code may call it."""
        calls = self._calls.get(function)
        if not calls or function in self._handed_on:
            return False
        position = max(self._positions(function, parameter), default=sys.maxsize)
        return all(
            parameter in c.keywords or (parameter in keys if c.open else len(c.positions) > position) for c in calls
        )

    def both_ways(self, function: str, parameter: str) -> bool:
        """Returns whether some calls to a function set a flag and others do not. If so, the method needs both variants
        of the function, as in `tanh(x, derivative=True)`."""
        given = {
            c.keywords.get(parameter, "".join(c.positions[position : position + 1]))
            for position in self._positions(function, parameter)
            for c in self._calls.get(function, ())
        }
        return len(given) > 1

    def _positions(self, function: str, parameter: str) -> set[int]:
        return {names.index(parameter) for names in self._signatures.get(function, ()) if parameter in names}


def _no_values(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the child nodes that a node does not use as values: its callee, bases and annotations."""
    match node:
        case ast.Call(func=ast.Name(id="super") as called, args=args):
            yield from (called, *args)
        case ast.Call(func=ast.Attribute(value=owner, attr="__init__") as called):
            yield from (called, owner)
        case ast.Call(func=called):
            yield called
        case ast.ClassDef(bases=bases):
            yield from bases
        case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
            yield from ast.walk(annotation)
        case ast.FunctionDef(returns=ast.expr() as returns):
            yield from ast.walk(returns)


def _of(node: ast.Call) -> Call:
    return Call(
        tuple(map(ast.unparse, node.args)),
        {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords if keyword.arg},
        any(isinstance(a, ast.Starred) for a in node.args) or any(keyword.arg is None for keyword in node.keywords),
    )


def _calls(node: ast.AST, within: str, bases: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ast.Call]]:
    """Yields the calls in a tree. Treats a `super().__init__` call as a call to each base class."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            name = last_name(child.func)
            yield from ((base, child) for base in bases.get(within, ())) if name == "__init__" else [(name, child)]
        yield from _calls(child, child.name if isinstance(child, ast.ClassDef) else within, bases)
