"""Rejects bad candidates before they cost a run. Candidates are bad if the change is empty, affects only comments, lies
outside the candidate's places or in code that computes the metric, or does not parse."""

import ast
from collections.abc import Mapping, Sequence

from xkg.agents.ablation.candidates import Candidate, Place
from xkg.agents.ablation.mutation import changed_lines
from xkg.agents.workspace.writable_paths import refused_path
from xkg.sandbox.evidence.python_ast import syntax_tree


def refusal(
    candidate: Candidate, before: Mapping[str, str], after: Mapping[str, str], protected: Sequence[Place]
) -> str | None:
    """Returns a one-line reason why a change must not be run, or None. `before` and `after` are the changed files;
    `protected` are the lines that compute or write the metric."""
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
