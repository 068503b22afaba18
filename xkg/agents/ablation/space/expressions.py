"""Finds code that can be changed in place: stages of a method, and calls with an alternative."""

import ast
from collections.abc import Iterator, Mapping, Sequence

from xkg.agents.ablation.space.exclusions import beside_the_method
from xkg.agents.ablation.space.forms import Forms, Step
from xkg.agents.ablation.space.python_source import Function, PythonSource, last_name
from xkg.agents.ablation.space.site import Around, Site, of_one
from xkg.agents.ablation.space.stages import stages


def sites(source: PythonSource, own: Mapping[str, Step]) -> Iterator[Site]:
    """Returns the sites in a file, in line order, without duplicates. `own` is the result of `own_steps`."""
    seen: set[tuple[int, int]] = set()
    found = []
    beside = beside_the_method(source.tree)
    forms = Forms(source.tree, own)
    for name, scope in [("", source.tree), *source.functions]:
        formula = name.rpartition(".")[2] in own and own[name.rpartition(".")[2]].forms
        for statement, loop in _statements(scope):
            if not isinstance(statement, ast.Assign | ast.Return | ast.Expr | ast.AugAssign):
                continue
            for site in stages(source, statement, Around(loop, beside, forms, formula)):
                at = (site.changes[0].replacements[0].start, site.changes[0].replacements[0].end)
                if at not in seen:
                    seen.add(at)
                    found.append(site)
    return iter(sorted(found, key=lambda site: (site.place.start_line, site.changes[0].replacements[0].start)))


def _statements(scope: ast.AST, loop: Sequence[ast.stmt] = ()) -> Iterator[tuple[ast.stmt, Sequence[ast.stmt]]]:
    """Yields the statements in a scope, paired with the statements in the innermost enclosing loop."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for statement in getattr(scope, name, ()):
            if isinstance(statement, Function | ast.ClassDef):
                continue
            if isinstance(statement, ast.stmt):
                yield statement, loop
            repeats = isinstance(statement, ast.For | ast.AsyncFor | ast.While)
            yield from _statements(statement, [*ast.walk(statement)] if repeats else loop)  # type: ignore[list-item]


def alternatives(sources: Sequence[PythonSource], executed: Mapping[str, frozenset[int]] | None) -> Iterator[Site]:
    """Yields calls to a function or class that can be replaced with another function or class from the same file. The
    replacement must have the same parameters and methods, and must not be used by the run."""
    used = _used(sources, executed)
    for source in sources:
        by_signature: dict[str, list[str]] = {}
        for top in source.tree.body:
            if isinstance(top, Function | ast.ClassDef) and (of := _signature(top)):
                by_signature.setdefault(of, []).append(top.name)
        others = {name: [o for o in group if o != name] for group in by_signature.values() for name in group}
        for other in sources:
            for node in ast.walk(other.tree):
                called = node.func if isinstance(node, ast.Call) else None
                if not isinstance(called, ast.Name) or not others.get(called.id):
                    continue
                within = other.symbol_at(called.lineno).rpartition(".")[2]
                known = {*_names_of(other)}
                values = [
                    new for new in others[called.id][:3] if within not in (called.id, new) and new in known - used
                ]
                if values:
                    yield Site(
                        what="the function", text=called.id, place=other.place(called),
                        changes=of_one(other, called, *(("replace", new, new) for new in values)),
                    )  # fmt: skip


def _used(sources: Sequence[PythonSource], executed: Mapping[str, frozenset[int]] | None) -> set[str]:
    """The functions and classes that the run calls or, if the executed lines are unknown, that any code calls."""
    found = set()
    for source in sources:
        ran = None if executed is None else executed.get(source.path, frozenset())
        if ran is None:
            found |= {last_name(n.func) for n in ast.walk(source.tree) if isinstance(n, ast.Call)}
            continue
        for name, function in source.functions:
            if any(line in ran for line in range(function.body[0].lineno, (function.end_lineno or 0) + 1)):
                found |= {*name.split(".")}
    return found


def _names_of(source: PythonSource) -> Iterator[str]:
    """The names that a module defines or imports."""
    for node in source.tree.body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    """A signature for comparison. For a function with several parameters, the signature consists of these parameters
    and the number of returned values; for a class, of the methods with their signatures."""
    if isinstance(node, ast.ClassDef):
        methods = sorted(f"{f.name}({_parameters(f)}){_returned(f)}" for f in node.body if isinstance(f, Function))
        return " ".join(methods) if any(not each.startswith("__init__") for each in methods) else ""
    parameters = _parameters(node)
    return f"{parameters} {_returned(node)}" if "," in parameters else ""


def _returned(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[int]:
    values = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    return sorted({len(value.elts) if isinstance(value, ast.Tuple) else 1 for value in values})


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = function.args
    return ",".join(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
