"""Determines which of the symbols that the author saw were used to write a module."""

import ast
import re
from collections.abc import Sequence

from xkg.build.code.codebase import Codebase, SourceSymbol
from xkg.build.code.languages.python import parse_ast
from xkg.build.similarity.fidelity import unmatched
from xkg.build.similarity.statements import statements

# The minimum fraction of a symbol's statements with a counterpart in the module. A single statement may match by
# chance.
_LEAST_SHARE = 0.34


def made_from(implementation: str, best: str, sources: Sequence[str], codebase: Codebase) -> tuple[str, ...]:
    """Returns the ids in `sources` of the symbols used to write the implementation, in order. The implementation
    contains the symbols' statements or at least their names. The result always includes `best`."""
    symbols = codebase.symbols()
    names = _names(implementation)

    def is_used(source: SourceSymbol) -> bool:
        return _is_used(source, implementation, names, codebase)

    return tuple(identity for identity in sources if identity == best or is_used(symbols[identity]))


def _is_used(source: SourceSymbol, implementation: str, names: frozenset[str], codebase: Codebase) -> bool:
    symbol = source.symbol
    if symbol.kind != "method" and symbol.qualified_name.rpartition(".")[2] in names:
        return True
    text = codebase.source(symbol)
    count = len(statements(text))
    if symbol.kind == "constant" or not count:
        return False
    return count - len(unmatched(text, implementation)) >= _LEAST_SHARE * count


def _names(implementation: str) -> frozenset[str]:
    tree = parse_ast(implementation)
    if tree is None:
        return frozenset(re.findall(r"[^\W\d]\w*", implementation))
    found = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    found |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    return frozenset(found)
