"""Collects the slices or whole files from which a language model implements a technique."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xkg.build.code.codebase import Codebase, comment_mark
from xkg.build.guided.lookup import place_of
from xkg.build.guided.vendored import is_inside, vendored_folders
from xkg.build.slicing.docstrings import with_short_docstrings
from xkg.build.slicing.slice import Slice, slice_symbols
from xkg.model import LineRange, Symbol

MAX_BYTES = 52_100
# The maximum number of bytes of located symbols to show. The best place is always shown. Symbols beyond the limit are
# listed by name only.
MOST_LOCATED = 24_000
# The maximum bytes of located symbols and their dependencies, with shortened docstrings. If the located symbols are
# larger, their dependencies may add up to `_BESIDE` bytes. The model can open any omitted code.
_MOST_NEEDED = 20_000
_BESIDE = 6_000
_MOST_LINES = 1_500
# A file of up to this size is shown in full if it cannot be sliced.
_SHORT_FILE = 12_000
_MOST_OUTLINED = 3_000


@dataclass(frozen=True)
class Material:
    """The code shown to the model. `code` is its text. `used` contains the located symbols in the code, and `sources`
    also contains their dependencies. `packages` contains third-party imports. `remarks` describes special
    circumstances, one per line."""

    code: str
    used: tuple[str, ...]
    sources: tuple[str, ...]
    packages: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def material(
    codebase: Codebase,
    located: Sequence[str],
    lines: Mapping[str, Sequence[LineRange]] = MappingProxyType({}),
    ready: Mapping[str, str] = MappingProxyType({}),
) -> Material:
    """Collects up to 52,100 bytes of located symbols, best first, and their dependencies, nearest first.

    Symbols that do not fit are listed at the end of the code. Dependencies are listed with their signatures. If `lines`
    are given for a located file, only these lines and their dependencies are shown.

    `ready` maps symbol ids to the components written from them. Such symbols are only mentioned in a remark."""
    symbols = codebase.symbols()
    used, refused, left_out = list[str](), dict[str, str](), list[str]()
    room = MOST_LOCATED
    for identity in dict.fromkeys(located):
        symbol = symbols[identity].symbol
        inside = any(_contains(symbols[other].symbol, symbol) for other in used)
        size = 0 if inside else _size(codebase.source(symbol))
        if size > room and (used or refused):
            left_out.append(identity)
            continue
        room -= size
        why = "" if inside else slice_symbols(codebase, [identity]).refused
        if why:
            refused[identity] = why
        else:
            used.append(identity)
    cut = _fitting_slice(codebase, used, lines, tuple(ready)) if used else Slice(source="")
    remarks = [f"{name} is used but not defined: {why}" for name, why in cut.missing.items()]
    if cut.cut:
        names = ", ".join(identity.rpartition("::")[2] for identity in cut.cut[:20])
        remarks.append(f"Used, but omitted to save space: {names}; signatures are at the end of the code")
    as_in_file = {symbols[each].symbol.path for each in refused}
    hidden = {
        identity: of
        for identity, of in ready.items()
        if symbols[identity].symbol.path not in as_in_file and not _is_shown(codebase, cut, identity)
    }
    for component in dict.fromkeys(hidden.values()):
        names = ", ".join(place_of(symbols[identity].symbol) for identity, of in hidden.items() if of == component)
        remarks.append(f"Not shown again, since the component {component} was made from it: {names}")
    parts = list(filter(None, [cut.source, *_verbatim(codebase, [symbols[each].symbol for each in refused])]))
    if cut.outlines or left_out:
        parts.append(_named(cut.outlines, [symbols[identity].symbol for identity in left_out]))
    if left_out:
        names = ", ".join(place_of(symbols[identity].symbol) for identity in left_out)
        remarks.append(f"Also located, but omitted to save space: {names}")
    code = "\n".join(parts)
    fitting = _head(code)
    if fitting != code:
        remarks.append("The code is too long, so its end is cut off")
    for why in dict.fromkeys(refused.values()):
        remarks.append(f"Some code is shown as in its file, without what it needs from other files: {why}")
    others = {codebase.module(symbols[each].symbol).language for each in refused} - {"python"}
    remarks += [f"Code in {language}: write it in Python, statement by statement" for language in sorted(others)]
    return Material(
        code=fitting,
        used=(*used, *refused),
        sources=tuple(dict.fromkeys([*used, *refused, *cut.derived_from])),
        packages=tuple(sorted({*cut.packages, *_imported(codebase, [symbols[each].symbol for each in refused])})),
        remarks=(*remarks, *cut.notes),
    )


def located_size(codebase: Codebase, located: Sequence[str], lines: Mapping[str, Sequence[LineRange]]) -> int:
    """Returns the size of located symbols in bytes, or of a whole question if the best symbol cannot be sliced."""
    if slice_symbols(codebase, located[:1]).refused:
        return MOST_LOCATED
    return sum(_wanted_size(codebase, codebase.symbols()[each].symbol, lines.get(each, ())) for each in located)


def narrowed(
    codebase: Codebase, located: Sequence[str], lines: Mapping[str, Sequence[LineRange]]
) -> dict[str, Sequence[LineRange]]:
    """Returns the lines to show for each file that need not be shown in full. Functions, methods and classes are shown
    in full."""
    symbols = codebase.symbols()
    return {each: lines[each] for each in located if each in lines and symbols[each].symbol.kind == "module"}


def _is_shown(codebase: Codebase, cut: Slice, identity: str) -> bool:
    """Returns whether a slice contains a symbol, either directly or inside a function or class."""
    symbols = codebase.symbols()
    symbol = symbols[identity].symbol
    outer = (symbols[each].symbol for each in cut.derived_from if symbols[each].symbol.kind != "module")
    left_out = any(gap.start_line <= symbol.start_line <= gap.end_line for gap in cut.gaps.get(symbol.path, ()))
    return not left_out and any(_contains(each, symbol) for each in outer)


def _wanted_size(codebase: Codebase, symbol: Symbol, lines: Sequence[LineRange]) -> int:
    """Returns the size in bytes of a symbol or, if given, of its `lines`."""
    text = codebase.source(symbol)
    if not lines:
        return _size(text)
    first, every = symbol.start_line, text.split("\n")
    return sum(_size("\n".join(every[at.start_line - first : at.end_line - first + 1])) for at in lines)


def _contains(outer: Symbol, inner: Symbol) -> bool:
    return outer.path == inner.path and outer.start_line <= inner.start_line and inner.end_line <= outer.end_line


def _verbatim(codebase: Codebase, symbols: Sequence[Symbol]) -> Iterator[str]:
    """Yields the unchanged lines of symbols that cannot be sliced. Includes short files in full."""
    shown: set[str] = set()
    for symbol in symbols:
        module = codebase.module(symbol)
        text, first, last = codebase.source(symbol), symbol.start_line, symbol.end_line
        if _size(module.text) <= _SHORT_FILE:
            text, first, last = module.text, 1, module.text.count("\n") + 1
        head = f"{comment_mark(module.language)} --- {module.path}:{first}-{last} @ {_commit(codebase)}"
        if head not in shown:
            shown.add(head)
            yield f"{head} ({module.language}, as in its file)\n{text.strip(chr(10))}\n"


def _imported(codebase: Codebase, symbols: Sequence[Symbol]) -> set[str]:
    """Returns the third-party packages that these symbols' Python files import."""
    modules = [module for module in map(codebase.module, symbols) if module.language == "python"]
    tops = {i.module.partition(".")[0] for m in modules for i in m.imports if i.target is None}
    return tops - sys.stdlib_module_names - {""}


def _named(outlines: Sequence[str], places: Sequence[Symbol]) -> str:
    """Returns comments that list the symbols that did not fit."""
    lines = ["# --- left out for room"]
    lines += [f"# also located: {s.path}:{s.start_line}-{s.end_line} {s.qualified_name}" for s in places]
    room = _MOST_OUTLINED
    for line in outlines:
        room -= len(line)
        lines += [f"# {line}"] if room > 0 else []
    return "\n".join([*lines, *(["# … and more"] if room <= 0 else [])]) + "\n"


def _fitting_slice(
    codebase: Codebase, located: Sequence[str], lines: Mapping[str, Sequence[LineRange]], ready: Sequence[str]
) -> Slice:
    """Returns the slice of these symbols. Drops dependencies if the slice would be too long. Shortens the docstrings of
    dependencies and of partly shown symbols."""
    vendored = vendored_folders(codebase)

    def outlined(path: str) -> bool:
        return is_inside(path, vendored)

    symbols = {identity: codebase.symbols()[identity].symbol for identity in located}
    whole = {symbol.qualified_name for identity, symbol in symbols.items() if identity not in lines}
    own = sum(_wanted_size(codebase, symbol, lines.get(identity, ())) for identity, symbol in symbols.items())
    limit = min(MAX_BYTES, max(_MOST_NEEDED, own + _BESIDE))
    most = _MOST_LINES
    while True:
        cut = slice_symbols(codebase, located, max_lines=most, lines=lines, ready=ready, outlined=outlined)
        source = with_short_docstrings(cut.source, whole)
        size = _size(source)
        if size <= limit or most <= 1:
            return cut.model_copy(update={"source": source})
        most = max(1, min(most - 1, cut.source.count("\n") - 1, int(most * limit / size * 0.9)))


def _commit(codebase: Codebase) -> str:
    return (codebase.repository.commit or codebase.repository.id.rpartition("@")[2])[:7]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _head(text: str) -> str:
    """Returns the text up to the last complete line that fits within the limit."""
    if _size(text) <= MAX_BYTES:
        return text
    start = text.encode("utf-8", "surrogatepass")[:MAX_BYTES].decode("utf-8", "ignore")
    return start[: start.rfind("\n") + 1] or start
