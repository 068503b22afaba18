"""Finds the components that a module does not use."""

import ast
from collections.abc import Sequence

from xkg.build.code.languages.python import parse_ast
from xkg.build.slicing.compose import Composed, Part
from xkg.sandbox.evidence.own_statements import own_lines


def uncalled(composed: Composed, parts: Sequence[Part]) -> list[int]:
    """Returns the indices of the parts that do not contribute a public definition to a composed module. A definition
    shared by two parts counts for both."""
    return [i for i, part in enumerate(parts) if i not in composed.used and not _shares(part.source, composed.source)]


def _shares(component: str, module: str) -> bool:
    tree = parse_ast(component)
    own = own_lines(component, [module])
    definitions = [] if tree is None else [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return any(not node.name.startswith("_") and node.lineno not in own for node in definitions)
