"""Finds the lines in a changed file whose execution proves that the change ran."""

import ast
from collections.abc import Mapping, Sequence

from xkg.agents.ablation.candidates import Place
from xkg.agents.ablation.checks import tree_of
from xkg.agents.workspace.outline import outline
from xkg.agents.workspace.patches import hunks
from xkg.value import Value

_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


class ChangedPlace(Value):
    """Changed lines, numbered as in the changed file. If any of `lines` runs, the change ran. `lines` is empty if the
    changed code can never run, such as code after a return."""

    place: Place
    lines: tuple[int, ...]


def changed_places(before: Mapping[str, str], after: Mapping[str, str]) -> list[ChangedPlace]:
    """Returns the changed lines in Python files, except comments and pure deletions."""
    found = []
    for path in sorted(after):
        if path.endswith(".py"):
            new = after[path]
            tree, executable = tree_of(new), outline(new).executable
            for _, _, start, end in hunks(before.get(path, "").encode(), new.encode()):
                shown = {line for number in range(start + 1, end + 1) for line in _shown_by(tree, number)}
                if shown:
                    place = Place(path=path, start_line=start + 1, end_line=end)
                    found.append(ChangedPlace(place=place, lines=tuple(sorted(shown & executable))))
    return found


def _shown_by(tree: ast.Module, line: int) -> set[int]:
    """The lines of the innermost statement around a line: all lines of a simple statement, or the header of a compound
    statement. For a function, the body is used instead, because a function's header runs when the file is imported."""
    body: Sequence[ast.stmt] = tree.body
    while True:
        inside = next((s for s in body if _start(s) <= line <= (s.end_lineno or s.lineno)), None)
        if inside is None:
            return set()
        blocks = _blocks(inside)
        if not blocks:
            return set(range(_start(inside), (inside.end_lineno or inside.lineno) + 1))
        first = min(block[0].lineno for block in blocks)
        if line < first:
            if line > _head_end(inside, blocks):
                return set()  # the line is a comment before the body
            if isinstance(inside, _FUNCTION):
                return set(range(first, (inside.end_lineno or first) + 1))
            return set(range(_start(inside), first))
        body = [statement for block in blocks for statement in block]


def _blocks(statement: ast.stmt) -> list[Sequence[ast.stmt]]:
    if not isinstance(statement, (*_COMPOUND, *_FUNCTION, ast.ClassDef)):
        return []
    found: list[Sequence[ast.stmt]] = [getattr(statement, name, ()) for name in ("body", "orelse", "finalbody")]
    found += [handler.body for handler in getattr(statement, "handlers", ())]
    found += [case.body for case in getattr(statement, "cases", ())]
    return [block for block in found if block]


def _head_end(statement: ast.stmt, blocks: Sequence[Sequence[ast.stmt]]) -> int:
    body = {id(inner) for block in blocks for inner in block}
    head = [node for child in ast.iter_child_nodes(statement) if id(child) not in body for node in ast.walk(child)]
    return max([statement.lineno, *(getattr(node, "end_lineno", 0) or 0 for node in head)])


def _start(statement: ast.stmt) -> int:
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
