"""Applies exact source changes, and checks each change before it is run.

A replacement applies only if the file contains the old text at the given offsets. A candidate is refused if its change
is empty, affects only comments, or does not parse. Changes to code outside the candidate's places, or to code that
computes the metric, are also refused. This module also finds the lines that must run to prove that a change took
effect."""

import ast
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from xkg.agents.ablation.candidates import Candidate, Place, Replacement
from xkg.agents.workspace.files.patches import hunks, text_patch
from xkg.agents.workspace.files.writable_paths import refused_path
from xkg.agents.workspace.program.outline import outline
from xkg.errors import XkgError
from xkg.sandbox.evidence.python_ast import syntax_tree
from xkg.value import Value


class MutationError(XkgError):
    """Raised when a change cannot be applied to the files."""


def apply(replacements: Iterable[Replacement], files: Mapping[str, str]) -> dict[str, str]:
    """Applies replacements, and returns the changed files (path → new text). Raises `MutationError` if a file or old
    text is missing, or if two changes overlap."""
    by_path: dict[str, list[Replacement]] = {}
    for replacement in replacements:
        by_path.setdefault(replacement.path, []).append(replacement)
    changed = {}
    for path, own in by_path.items():
        text = files.get(path)
        if text is None:
            raise MutationError(f"{path} is not in this working copy")
        last = len(text) + 1
        for r in sorted(own, key=lambda r: -r.start):
            if r.end > last:
                raise MutationError(f"two changes to {path} overlap at character {r.start}")
            if text[r.start : r.end] != r.old:
                raise MutationError(f"{path} does not contain {r.old[:60]!r} at character {r.start}; it has changed")
            text = text[: r.start] + r.new + text[r.end :]
            last = r.start
        changed[path] = text
    return changed


_CONTEXT = 20


def joined(first: Sequence[Replacement], second: Iterable[Replacement], files: Mapping[str, str]) -> list[Replacement]:
    """Combines two changes to the same files. If a change in `second` lies inside a change in `first`, it is applied to
    the new text of `first`. The change is dropped if that text does not contain the old code exactly once."""
    own, rest = list(first), []
    for inner in second:
        at = next(
            (i for i, r in enumerate(own) if r.path == inner.path and r.start < inner.end and inner.start < r.end), None
        )
        if at is None:
            rest.append(inner)
            continue
        outer = own[at]
        if not outer.start <= inner.start <= inner.end <= outer.end:
            continue
        before = files[inner.path][max(outer.start, inner.start - _CONTEXT) : inner.start]
        if outer.new.count(before + inner.old) == 1:
            new = outer.new.replace(before + inner.old, before + inner.new)
            own[at] = outer.model_copy(update={"new": new})
    return [*own, *rest]


def unified_diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Returns a git-style diff for the files in `after`."""
    found = (text_patch(path, before[path].encode(), after[path].encode()) for path in sorted(after))
    return b"".join(found).decode()


def changed_lines(before: str, after: str) -> list[tuple[int, int]]:
    """Returns the line ranges of `before` (1-based, inclusive) that differ. An insertion is represented by the line
    after it."""
    return [
        (max(1, start if start == end else start + 1), max(1, end))
        for start, end, _, _ in hunks(before.encode(), after.encode())
    ]


def line_replacements(path: str, before: str, after: str) -> Iterator[Replacement]:
    """Yields replacements of whole lines that turn `before` into `after`."""
    old, new = (io.StringIO(text, newline="\n").readlines() for text in (before, after))
    starts = [0, *accumulate(map(len, old))]
    for i1, i2, j1, j2 in hunks(before.encode("utf-8", "replace"), after.encode("utf-8", "replace")):
        yield Replacement(path=path, start=starts[i1], end=starts[i2], old="".join(old[i1:i2]), new="".join(new[j1:j2]))


def refusal(
    candidate: Candidate, before: Mapping[str, str], after: Mapping[str, str], protected: Sequence[Place]
) -> str | None:
    """Returns a one-line reason not to run a change, or None. `before` and `after` map the paths of the changed files
    to their text. `protected` contains the lines that compute or write the metric."""
    differing = [path for path in after if before[path] != after[path]]
    if not differing:
        return "the change is empty"
    for path in differing:
        if why := refused_path(path, before):
            return f"{path} must not be written: {why}"
        places = [place for place in candidate.places if place.path == path]
        own = {line for place in places for line in range(place.start_line, place.end_line + 1)}
        for start, end in changed_lines(before[path], after[path]):
            lines = Place(path=path, start_line=start, end_line=end)
            if not own.issuperset(range(start, end + 1)):
                return f"it changes {lines}, which is outside the component's places"
            for place in protected:
                if place.meets(lines):
                    return f"it changes {lines}, and {place} computes the metric"
    meaningful = False
    for path in differing:
        if not path.endswith(".py"):
            meaningful = True
            continue
        try:
            new = tree_of(after[path])
        except SyntaxError as error:
            return f"{path} would not parse: line {error.lineno}, {error.msg}"
        try:
            old = tree_of(before[path])
        except SyntaxError:
            return f"{path} does not parse"
        meaningful = meaningful or ast.dump(old) != ast.dump(new)
    return None if meaningful else "the change only affects comments or layout"


LARGEST_FILE = 1_000_000  # characters


def tree_of(text: str) -> ast.Module:
    """Parses Python source. Raises `SyntaxError` for source that cannot be parsed, is too large or is nested too
    deeply."""
    if len(text) > LARGEST_FILE:
        raise SyntaxError("too large")
    try:
        return syntax_tree(text)
    except (ValueError, RecursionError) as error:
        raise SyntaxError(" ".join(str(error).split())[:200]) from error


class ChangedPlace(Value):
    """Changed lines, numbered as in the changed file. The change ran if any of `lines` ran. `lines` is empty if the
    changed code can never run, such as code after a return."""

    place: Place
    lines: tuple[int, ...]


def changed_places(before: Mapping[str, str], after: Mapping[str, str]) -> list[ChangedPlace]:
    """Returns the changed lines in Python files, excluding comments and pure deletions."""
    found = []
    for path in sorted(after):
        if path.endswith(".py"):
            new = after[path]
            nodes = [node for node in ast.walk(tree_of(new)) if isinstance(node, ast.stmt)]
            spans = [_span(node) for node in reversed(nodes)]  # inner statements before outer ones
            executable = outline(new).executable
            for _, _, start, end in hunks(before.get(path, "").encode(), new.encode()):
                shown: set[int] = set()
                for line in range(start + 1, end + 1):
                    shown.update(next((lines for own, lines in spans if line in own), ()))
                if shown:
                    place = Place(path=path, start_line=start + 1, end_line=end)
                    found.append(ChangedPlace(place=place, lines=tuple(sorted(executable & shown))))
    return found


def _span(node: ast.stmt) -> tuple[range, range]:
    """Returns the lines of a simple statement or of a compound statement's header, and the lines that prove that the
    statement ran. For a function, these are the lines of the body, because the header runs when the file is
    imported."""
    start, end = _start(node), (node.end_lineno or node.lineno) + 1
    inside = [_start(each) for each in ast.walk(node) if isinstance(each, ast.stmt) and each is not node]
    if not inside:
        return range(start, end), range(start, end)
    body = min(inside)
    ends = [getattr(each, "end_lineno", None) or 0 for each in ast.walk(node)]
    head = range(start, max(node.lineno, *(line for line in ends if line < body)) + 1)
    return head, range(body, end) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else head


def _start(node: ast.stmt) -> int:
    decorators: Sequence[ast.expr] = getattr(node, "decorator_list", ())
    return min([node.lineno, *(each.lineno for each in decorators)])
