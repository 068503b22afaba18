"""Lists the public functions, classes and scripts in a paper's repository, and those that no technique's code uses."""

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from xkg.build.code.codebase import Codebase, Module, SourceSymbol
from xkg.build.guided.reading.overview import by_importance, described, tops
from xkg.build.slicing.slice import slice_symbols

MOST = 40
_FEWEST_LINES = 4
_LONGEST = 160
_CALL = re.compile(r"([A-Za-z_]\w{2,})\(")


@dataclass(frozen=True)
class PublicCode:
    """A public symbol, its id and the line that describes it to the model."""

    symbol: str
    text: str


def public_code(codebase: Codebase) -> list[PublicCode]:
    """Returns up to forty public symbols, starting with those in the most important files. Functions and classes need
    at least four lines, and scripts at least four lines of top-level calls. Of several symbols with the same
    description, includes only the first."""
    found: dict[str, PublicCode] = {}
    for module in by_importance(codebase):
        for source in filter(_is_public, tops(module)):
            text = described(source)
            found.setdefault(text, PublicCode(source.symbol.id, f"{module.path}: {text}"))
        for whole in (s for s in module.symbols if s.symbol.kind == "module"):
            if calls := _calls(module):
                about = textwrap.shorten(f"script, {whole.docstring}", _LONGEST, placeholder=" …")
                text = f"{about} Calls {textwrap.shorten(calls, _LONGEST, placeholder=' …')}"
                found.setdefault(text, PublicCode(whole.symbol.id, f"{module.path}: {text}"))
    return list(found.values())[:MOST]


def unreached(codebase: Codebase, among: Iterable[str], located: Iterable[str]) -> tuple[str, ...]:
    """Returns the path and name of each symbol in `among` that is not in the slice of any symbol in `located`. `among`
    and `located` contain ids."""
    symbols = codebase.symbols()
    reached: set[str] = set()
    for identity in dict.fromkeys(located):
        # If a whole file is located, not all of its functions need belong to a technique.
        if identity in symbols and symbols[identity].symbol.kind != "module":
            reached.update(slice_symbols(codebase, [identity]).derived_from or (identity,))
    for identity in list(reached):
        parent = symbols[identity].parent
        while parent is not None and parent not in reached:
            reached.add(parent)
            parent = symbols[parent].parent
    found = (symbols[each].symbol for each in among if each in symbols and each not in reached)
    return tuple(f"{symbol.path}::{symbol.qualified_name}" for symbol in found if symbol.kind != "module")


def _calls(module: Module) -> str:
    """Returns the names that a file calls outside its functions and classes, or '' if the file has too few such
    calls."""
    inside = {n for s in tops(module) for n in range(s.symbol.start_line, s.symbol.end_line + 1)}
    lines = [_CALL.findall(line) for n, line in enumerate(module.text.split("\n"), start=1) if n not in inside]
    is_script = sum(map(bool, lines)) >= _FEWEST_LINES
    return ", ".join(dict.fromkeys(name for found in lines for name in found)) if is_script else ""


def _is_public(source: SourceSymbol) -> bool:
    symbol = source.symbol
    is_long = symbol.end_line - symbol.start_line + 1 >= _FEWEST_LINES
    return is_long and not symbol.qualified_name.startswith("_") and symbol.qualified_name != "main"
