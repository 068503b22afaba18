"""Rejects repairs that hide an error or bypass the test.

Mutants show whether a repaired draft's test still detects changes, and the fidelity check whether the code still
follows its source. The guard rejects only the cheats that these checks miss."""

import ast
from collections.abc import Iterator

from xkg.build.code.languages.python import parse_ast
from xkg.build.guided.draft import Draft
from xkg.build.guided.repair_guard.loopholes import swallowed, tricks
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.sandbox.evidence.tampering import bound_names

_EMPTY = ast.Module([], [])
_MOST_FAULTS = 5


def complaint(before: Draft, after: Draft, *, may_remove: bool = False) -> str | None:
    """Returns the faults in a repair, worded for the model, or None if there are none. If `may_remove` is True, the
    repair may remove public functions and assertions."""
    trees: list[ast.Module] = []
    for name, source in (("implementation", after.implementation), ("test", after.test)):
        try:
            trees.append(syntax_tree(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            where = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
            reason = error.msg if isinstance(error, SyntaxError) else str(error) or "nested too deeply"
            return f"the {name} does not parse after the repair: {reason}{where}"
    code, test = trees
    old_code, old_test = parse_ast(before.implementation) or _EMPTY, parse_ast(before.test) or _EMPTY
    try:
        found = [
            *tricks("implementation", old_code, code),
            *tricks("test", old_test, test),
            *swallowed("implementation", old_code, code),
            *swallowed("test", old_test, test),
            *_shadowed(old_code, old_test, code, test),
            *_hollow(old_code, code),
            *(() if may_remove else _gone(before, old_code, code, test)),
        ]
    except RecursionError:
        return "the repair is nested too deeply to be checked"
    return "; ".join(list(dict.fromkeys(found))[:_MOST_FAULTS]) or None


def public_names(tree: ast.Module) -> set[str]:
    """Returns the functions and classes that a test can import."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {s.name for s in tree.body if isinstance(s, kinds) and not s.name.startswith("__")}


def _shadowed(old_code: ast.Module, old_test: ast.Module, code: ast.Module, test: ast.Module) -> Iterator[str]:
    names = public_names(code) | public_names(old_code)
    for name in sorted(names & (bound_names(test) - bound_names(old_test)) - {"main"}):
        yield f"the test defines {name} itself, so it no longer tests the implementation"


def _hollow(old_code: ast.Module, code: ast.Module) -> Iterator[str]:
    """Yields the functions that used their arguments before the repair but no longer do."""
    before = {node.name: node for node in ast.walk(old_code) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(code):
        was = before.get(node.name) if isinstance(node, ast.FunctionDef) else None
        if isinstance(node, ast.FunctionDef) and was and _uses_arguments(was) and not _uses_arguments(node):
            yield f"{node.name} no longer uses its arguments: the result must be computed from them"


def _uses_arguments(function: ast.FunctionDef) -> bool:
    names = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    body = (each for statement in function.body for each in ast.walk(statement))
    return any(isinstance(each, ast.Name) and each.id in names for each in body)


def _gone(before: Draft, old_code: ast.Module, code: ast.Module, test: ast.Module) -> Iterator[str]:
    """Yields the public functions and assertions that the repair removed. Renamed functions do not count."""
    old_names, names = ({n for n in public_names(tree) if n[0] != "_"} for tree in (old_code, code))
    gone = old_names - names
    if len(gone) > len(names - old_names):
        yield f"{', '.join(sorted(gone))} was removed from the implementation: keep everything that others can call"
    old_test = parse_ast(before.test)
    had = (
        _assertions(old_test)
        if old_test is not None
        else sum(line.lstrip().startswith("assert") for line in before.test.splitlines())
    )
    if (has := _assertions(test)) < had:
        yield f"the test had {had} assertions and has {has}: keep each one, or replace it with an equally strict one"


def _assertions(test: ast.Module) -> int:
    """Returns the number of assertions, of any kind, that check something."""
    return sum(
        (
            isinstance(node, ast.Assert)
            and any(isinstance(each, ast.Name | ast.Attribute | ast.Call) for each in ast.walk(node.test))
        )
        or (isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2].startswith("assert"))
        for node in ast.walk(test)
    )
