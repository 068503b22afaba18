"""Finds the source functions that a composite's components already implement."""

import ast
from collections.abc import Iterable, Mapping, Sequence

from xkg.build.code.codebase import Codebase
from xkg.build.code.languages.python import parse_ast
from xkg.build.similarity.fidelity import unmatched
from xkg.build.similarity.statements import statements
from xkg.model import Symbol

# The minimum share of a symbol's statements with a counterpart in the component. One or two statements may be alike
# by chance, so the component must have all of these, under the symbol's name.
_LEAST_SHARE = 0.6
_FEW = 2


def ready_in_components(
    codebase: Codebase, located: Sequence[str], components: Iterable[tuple[str, Sequence[str], str]]
) -> Mapping[str, str]:
    """The functions and methods (ids) that components implement, each with the component's name. Functions that are
    `located`, or that contain or are inside a located function, are excluded. `components` are tuples of name, ids of
    the symbols that it was made from, and code. Raises `UnknownIdError` like `Codebase`."""
    symbols = codebase.symbols()
    own = [symbols[identity].symbol for identity in located]
    found: dict[str, str] = {}
    named: set[str] = set()
    for name, sources, implementation in components:
        defined = top_level_names(implementation)
        for identity in (each for each in sources if each in symbols):
            symbol = symbols[identity].symbol
            # If two components have the same helper, prefer the one that can be called by its name.
            is_named = symbol.qualified_name.rpartition(".")[2] in defined
            if identity in named or (identity in found and not is_named):
                continue
            named |= {identity} if is_named else set()
            if symbol.kind in ("function", "method") and not any(_overlaps(symbol, other) for other in own):
                text = codebase.source(symbol)
                count = len(statements(text))
                share = 1 - len(unmatched(text, implementation)) / count if count else 0.0
                if share >= (_LEAST_SHARE if count > _FEW else 1.0) and (count > _FEW or is_named):
                    found[identity] = name
    return found


def top_level_names(code: str) -> frozenset[str]:
    tree = parse_ast(code)
    nodes = [] if tree is None else [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return frozenset(node.name for node in nodes)


def _overlaps(symbol: Symbol, located: Symbol) -> bool:
    if symbol.path != located.path or located.kind in ("class", "module"):
        return False
    return symbol.start_line <= located.end_line and located.start_line <= symbol.end_line
