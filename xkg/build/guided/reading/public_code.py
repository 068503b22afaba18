"""The public functions and classes of a paper's repository, and those that no technique's code reaches."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xkg.build.code.codebase import Codebase, SourceSymbol
from xkg.build.guided.reading.overview import by_importance, described, tops

MOST = 40
_FEWEST_LINES = 4


@dataclass(frozen=True)
class PublicCode:
    """A symbol's id, and its line in a question."""

    symbol: str
    text: str


def public_code(codebase: Codebase) -> list[PublicCode]:
    """At most forty public functions and classes of at least four lines each, from the most important files first."""
    found = [
        PublicCode(source.symbol.id, f"{module.path}: {described(source)}")
        for module in by_importance(codebase)
        for source in tops(module)
        if _is_public(source)
    ]
    return found[:MOST]


def unreached(codebase: Codebase, among: Iterable[str], located: Iterable[str]) -> tuple[str, ...]:
    """The path and name of each symbol in `among` (ids) that no `located` symbol is, contains or reaches by calls."""
    symbols = codebase.symbols()
    reached = _reached(symbols, located)
    found = (symbols[each].symbol for each in among if each in symbols and each not in reached)
    return tuple(f"{symbol.path}::{symbol.qualified_name}" for symbol in found)


def _reached(symbols: Mapping[str, SourceSymbol], located: Iterable[str]) -> frozenset[str]:
    """The located symbols, the symbols that they call, and the symbols that contain any of these."""
    found: set[str] = set()
    ahead = [identity for identity in located if identity in symbols]
    members: dict[str, list[str]] = {}
    for identity, source in symbols.items():
        members.setdefault(source.parent or "", []).append(identity)
    while ahead:
        identity = ahead.pop()
        # If a whole file is located, its individual functions need not belong to a technique.
        if identity in found or identity not in symbols or symbols[identity].symbol.kind == "module":
            continue
        found.add(identity)
        # A table of functions, such as samplers by name, also lists alternatives that are not used.
        ahead += symbols[identity].calls if symbols[identity].symbol.kind != "constant" else ()
        ahead += members.get(identity, ()) if symbols[identity].symbol.kind == "class" else ()
    for identity in list(found):
        parent = symbols[identity].parent
        while parent is not None and parent in symbols and symbols[parent].symbol.kind != "module":
            found.add(parent)
            parent = symbols[parent].parent
    return frozenset(found)


def _is_public(source: SourceSymbol) -> bool:
    symbol = source.symbol
    is_long = symbol.end_line - symbol.start_line + 1 >= _FEWEST_LINES
    return is_long and not symbol.qualified_name.startswith("_") and symbol.qualified_name != "main"
