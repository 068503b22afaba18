"""A module as shown for a stronger test, which may not change its components, and for a review."""

import ast
import re
from collections.abc import Sequence

from xkg.build.code.languages.python import parse_ast
from xkg.build.guided.draft import Draft
from xkg.build.slicing.outlines import outline
from xkg.sandbox.evidence.own_statements import own_lines

_HEADING = re.compile(r"^# --- (?:component: .*|new)\n", re.MULTILINE)
_EMPTY = re.compile(r"^# --- component: .*\n\s*+(?=# --- )", re.MULTILINE)
_NOT_SHOWN = "# (its code is proven and reviewed apart, and not shown here)"


def shown_module(draft: Draft) -> str:
    """The module. Functions and classes of its proven components are shortened to signature and first sentence, and a
    comment says so. Lines that differ from a component's own are never left out."""
    proven = [component.implementation for component in draft.components if component.proven]
    tree = parse_ast(draft.implementation) if proven else None
    if tree is None:
        return draft.implementation
    own = own_lines(draft.implementation, proven)
    ready = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and own.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    ]
    lines = draft.implementation.split("\n")
    shown: list[str] = []
    after = 0
    for node in ready:
        shown += [*lines[after : _first_line(node) - 1], _NOT_SHOWN, *outline(node.name, node)]
        after = node.end_lineno or node.lineno
    return "\n".join([*shown, *lines[after:]])


def own_module(draft: Draft) -> str:
    """The module without the code of its proven components."""
    return _EMPTY.sub("", _without(draft.implementation, [c.implementation for c in draft.components if c.proven]))


def own_code(draft: Draft) -> str:
    """The module without the code of its components, as its author wrote it."""
    return _HEADING.sub("", _without(draft.implementation, [c.implementation for c in draft.components]))


def _without(module: str, components: Sequence[str]) -> str:
    own = own_lines(module, components)
    text = "\n".join(line for n, line in enumerate(module.split("\n"), start=1) if n in own)
    return re.sub(r"\n{4,}", "\n\n\n", text)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
