"""Collects the code from which a language model implements a technique: slices of the repository, or unchanged
files."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xkg.build.code.codebase import Codebase, comment_mark
from xkg.build.guided.lookup import place_of
from xkg.build.guided.vendored import is_inside, vendored_folders
from xkg.build.slicing.docstrings import with_short_docstrings
from xkg.build.slicing.slice import MAX_LINES, Slice, slice_symbols
from xkg.model import LineRange, Symbol

MAX_BYTES = 52_100
# Maximum bytes of located symbols to show. The best place is always shown. Symbols beyond the limit are listed by name
# only.
MOST_LOCATED = 24_000
# Maximum bytes of located symbols and their dependencies, with shortened docstrings. If the located symbols are longer,
# their dependencies may add up to `_BESIDE` bytes. The model can open any code that is left out.
_MOST_NEEDED = 20_000
_BESIDE = 6_000
# A file that cannot be sliced is shown in full up to this size.
_SHORT_FILE = 12_000
_MOST_OUTLINED = 3_000


@dataclass(frozen=True)
class Material:
    """The code shown to the model, as text in `code`. `used` are the located symbols in the code; `sources` adds the
    dependencies of these symbols. `is_cut` is true if some of the symbols' lines were omitted. `packages` are
    third-party imports. `remarks` describe special circumstances, one per line."""

    code: str
    used: tuple[str, ...]
    sources: tuple[str, ...]
    packages: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    is_cut: bool = False


def material(
    codebase: Codebase,
    located: Sequence[str],
    lines: Mapping[str, Sequence[LineRange]] = MappingProxyType({}),
    ready: Mapping[str, str] = MappingProxyType({}),
) -> Material:
    """Collects the located symbols, best first, and their dependencies, nearest first, in at most 52,100 bytes. Symbols
    that do not fit are listed at the end of the code; for dependencies, the list includes signatures. If `lines` are
    given for a located file, only these lines and their dependencies are shown. Symbols in `ready` are only mentioned
    in a remark; `ready` maps each symbol's id to the name of the component written from that symbol. Raises
    `UnknownIdError` for a symbol that is not in the codebase."""
    best = slice_symbols(codebase, located[:1])
    if best.refused:
        return _unsliced(codebase, located, best.refused)
    symbols = codebase.symbols()
    used, verbatim, left_out = [located[0]], list[str](), list[str]()
    room = MOST_LOCATED - _size(codebase.source(symbols[located[0]].symbol))
    for identity in dict.fromkeys(located[1:]):
        inside = any(_contains(symbols[other].symbol, symbols[identity].symbol) for other in used)
        size = 0 if inside else _size(codebase.source(symbols[identity].symbol))
        if size > room:
            left_out.append(identity)
            continue
        room -= size
        is_refused = not inside and slice_symbols(codebase, [identity]).refused
        (verbatim if is_refused else used).append(identity)
    whole_docstrings = {symbols[each].symbol.qualified_name for each in used if each not in lines}
    own = sum(_wanted_size(codebase, symbols[identity].symbol, lines.get(identity, ())) for identity in used)
    limit = min(MAX_BYTES, max(_MOST_NEEDED, own + _BESIDE))
    cut = _fitting_slice(codebase, used, limit, lines, tuple(ready), whole_docstrings)
    remarks = [f"{name} is used and nothing defines it: {why}" for name, why in cut.missing.items()]
    if cut.cut:
        names = ", ".join(identity.rpartition("::")[2] for identity in cut.cut[:20])
        remarks.append(f"Used, but omitted to save space: {names}; signatures are at the end of the code")
    hidden = {identity: of for identity, of in ready.items() if not _is_shown(codebase, cut, identity)}
    for component in dict.fromkeys(hidden.values()):
        names = ", ".join(place_of(symbols[identity].symbol) for identity, of in hidden.items() if of == component)
        remarks.append(f"Not shown again, since the component {component} was made from it: {names}")
    whole = _head(cut.source)
    if whole != cut.source:
        remarks.append("The end is cut off for its length")
    parts = [whole, *(_verbatim(codebase, symbols[identity].symbol) for identity in verbatim)]
    if cut.outlines or left_out:
        parts.append(_named(cut.outlines, [symbols[identity].symbol for identity in left_out]))
    if left_out:
        names = ", ".join(place_of(symbols[identity].symbol) for identity in left_out)
        remarks.append(f"Also located, but omitted to save space: {names}")
    return Material(
        code="\n".join(parts),
        used=(*used, *verbatim),
        sources=tuple(dict.fromkeys([*used, *verbatim, *cut.derived_from])),
        packages=cut.packages,
        remarks=(*remarks, *cut.notes),
        is_cut=bool(left_out or cut.gaps or cut.cut) or whole != cut.source,
    )


def located_size(codebase: Codebase, located: Sequence[str], lines: Mapping[str, Sequence[LineRange]]) -> int:
    """Returns the size of located symbols in bytes, or the size of a whole question if the best symbol cannot be
    sliced. Raises `UnknownIdError` like `material`."""
    if slice_symbols(codebase, located[:1]).refused:
        return MOST_LOCATED
    return sum(_wanted_size(codebase, codebase.symbols()[each].symbol, lines.get(each, ())) for each in located)


def narrowed(
    codebase: Codebase, located: Sequence[str], lines: Mapping[str, Sequence[LineRange]]
) -> dict[str, Sequence[LineRange]]:
    """Returns the lines to show for symbols that need not be shown in full: the given lines for modules and functions,
    or else all lines of a nested function. Methods and classes are shown in full."""
    found: dict[str, Sequence[LineRange]] = {}
    for identity in located:
        symbol = codebase.symbols()[identity].symbol
        if symbol.kind in ("module", "function") and identity in lines:
            found[identity] = lines[identity]
        elif symbol.kind == "function" and "." in symbol.qualified_name:
            found[identity] = [LineRange(start_line=symbol.start_line, end_line=symbol.end_line)]
    return found


def _is_shown(codebase: Codebase, cut: Slice, identity: str) -> bool:
    """Whether a slice contains a symbol, by itself or inside a function or class."""
    symbols = codebase.symbols()
    symbol = symbols[identity].symbol
    outer = (symbols[each].symbol for each in cut.derived_from if symbols[each].symbol.kind != "module")
    left_out = any(gap.start_line <= symbol.start_line <= gap.end_line for gap in cut.gaps.get(symbol.path, ()))
    return not left_out and any(_contains(each, symbol) for each in outer)


def _wanted_size(codebase: Codebase, symbol: Symbol, lines: Sequence[LineRange]) -> int:
    """Returns the size in bytes of a symbol or, if `lines` are given, of these lines."""
    text = codebase.source(symbol)
    if not lines:
        return _size(text)
    first, every = symbol.start_line, text.split("\n")
    return sum(_size("\n".join(every[at.start_line - first : at.end_line - first + 1])) for at in lines)


def _contains(outer: Symbol, inner: Symbol) -> bool:
    return outer.path == inner.path and outer.start_line <= inner.start_line and inner.end_line <= outer.end_line


def _verbatim(codebase: Codebase, symbol: Symbol) -> str:
    """Returns the unchanged lines of a symbol that cannot be sliced."""
    place = f"{symbol.path}:{symbol.start_line}-{symbol.end_line}"
    language = codebase.module(symbol).language
    return f"# --- {place} @ {_commit(codebase)} ({language}, as in its file)\n{codebase.source(symbol)}\n"


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
    codebase: Codebase,
    symbols: Sequence[str],
    limit: int,
    located: Mapping[str, Sequence[LineRange]],
    ready: Sequence[str],
    whole: Collection[str],
) -> Slice:
    """Returns the slice of these symbols. Docstrings are shortened except for symbols in `whole` (qualified names).
    Dependencies are dropped if the slice would be longer than `limit` bytes."""
    lines, vendored = MAX_LINES, vendored_folders(codebase)

    def outlined(path: str) -> bool:
        return is_inside(path, vendored)

    while True:
        cut = slice_symbols(codebase, symbols, max_lines=lines, lines=located, ready=ready, outlined=outlined)
        source = with_short_docstrings(cut.source, whole)
        size = _size(source)
        if size <= limit or lines <= 1:
            return cut.model_copy(update={"source": source})
        lines = min(lines - 1, cut.source.count("\n") - 1, int(lines * limit / size * 0.9))
        lines = max(lines, 1)


def _unsliced(codebase: Codebase, located: Sequence[str], why: str) -> Material:
    """Returns the best symbol's file (if the file is long, only the symbol's lines), followed by the lines of the other
    symbols."""
    symbols = codebase.symbols()
    first = symbols[located[0]].symbol
    module = codebase.module(first)
    whole = _size(module.text) <= _SHORT_FILE
    commit = _commit(codebase)
    mark = comment_mark(module.language)

    def part(symbol: Symbol, text: str, lines: str) -> str:
        return f"{mark} --- {symbol.path}:{lines} @ {commit}\n{text.strip(chr(10))}\n"

    parts = [part(first, module.text, f"1-{module.text.count(chr(10)) + 1}")] if whole else []
    used: list[str] = []
    for identity in located:
        symbol = symbols[identity].symbol
        if not (whole and symbol.path == first.path):
            text = part(symbol, codebase.source(symbol), f"{symbol.start_line}-{symbol.end_line}")
            if parts and _size("\n".join([*parts, text])) > _SHORT_FILE:
                continue
            parts.append(text)
        used.append(identity)
    code = "\n".join(parts)
    fitting = _head(code)
    remarks = [f"It stands here as in its file, without what that takes from other files: {why}"]
    if module.language != "python":
        remarks.append(f"It is written in {module.language}: write it in Python, statement by statement")
    elif "not Python 3" in why:
        remarks.append("It may be Python 2: write it for Python 3")
    if fitting != code:
        remarks.append("The end is cut off for its length")
    imported = {i.module.partition(".")[0] for i in module.imports if i.target is None and not i.module.startswith(".")}
    packages = sorted(imported - sys.stdlib_module_names - {""}) if module.language == "python" else []
    return Material(
        fitting,
        tuple(used),
        tuple(used),
        packages=tuple(packages),
        remarks=tuple(remarks),
        is_cut=fitting != code or len(used) < len(located),
    )


def _commit(codebase: Codebase) -> str:
    return (codebase.repository.commit or codebase.repository.id.rpartition("@")[2])[:7]


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _head(text: str) -> str:
    """Returns the text up to the last complete line within the limit."""
    if _size(text) <= MAX_BYTES:
        return text
    start = text.encode("utf-8", "surrogatepass")[:MAX_BYTES].decode("utf-8", "ignore")
    return start[: start.rfind("\n") + 1] or start
