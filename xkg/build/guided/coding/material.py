"""The material of a repository from which a language model writes a technique's code: slices, or unchanged files."""

import ast
import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from xkg.build.code.codebase import HASH_COMMENTS, Codebase
from xkg.build.code.python import parse_ast
from xkg.build.slicing.slice import MAX_LINES, Slice, slice_symbols
from xkg.model import Symbol

MAX_BYTES = 52_100
# More symbols are added while the total stays within this.
_SOFT_LIMIT = 24_000


@dataclass(frozen=True)
class Material:
    """`code` is the text; `used` are the located symbols in it, `sources` these and their dependencies. `entries` are
    the names of the located symbols in it. `packages` are imports from outside the standard library and the repository;
    `remarks` are special circumstances, one per line."""

    code: str
    used: tuple[str, ...]
    sources: tuple[str, ...]
    entries: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def material(codebase: Codebase, located: Sequence[str]) -> Material:
    """The best located symbol with its dependencies, and as many of the others as fit; at most 52,100 bytes. Raises
    `UnknownIdError` for a symbol that the codebase does not have."""
    cut = _fitting_slice(codebase, located[0])
    if cut.refused:
        return _unsliced(codebase, located, cut.refused)
    used = [located[0]]
    for symbol in located[1:]:
        if symbol in cut.derived_from or symbol.rpartition(".")[0] in cut.derived_from:
            used.append(symbol)
            continue
        wider = slice_symbols(codebase, [*used, symbol])
        if not wider.refused and not wider.cut and _size(wider.source) <= _SOFT_LIMIT:
            used, cut = [*used, symbol], wider
    remarks = [f"{name} is used and nothing defines it: {why}" for name, why in cut.missing.items()]
    if cut.cut:
        names = ", ".join(identity.rpartition("::")[2] for identity in cut.cut[:20])
        remarks.append(f"Left out here for its length, though it is used: {names}")
    code = _head(cut.source)
    if code != cut.source:
        remarks.append("The end is cut off for its length")
    return Material(
        code=code,
        used=tuple(used),
        sources=tuple(dict.fromkeys([*used, *cut.derived_from])),
        entries=cut.entries,
        packages=cut.packages,
        remarks=(*remarks, *cut.notes),
    )


def without(code: str, names: Collection[str], retained: Collection[str]) -> str:
    """The code with its functions and classes of these names, except `retained`, replaced by a comment. Code that does
    not parse is returned unchanged."""
    tree = parse_ast(code)
    if tree is None:
        return code
    lines: list[str | None] = list(code.split("\n"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name in names:
            if node.name in retained:
                continue
            first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
            lines[first - 1] = f"# {node.name}: see the components"
            lines[first : node.end_lineno] = [None] * ((node.end_lineno or first) - first)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line for line in lines if line is not None))


def _fitting_slice(codebase: Codebase, symbol: str) -> Slice:
    """The slice of a symbol, with fewer dependencies where it would be too long."""
    lines = MAX_LINES
    while True:
        cut = slice_symbols(codebase, [symbol], max_lines=lines)
        size = _size(cut.source)
        if size <= MAX_BYTES or lines <= 1:
            return cut
        lines = min(lines - 1, cut.source.count("\n") - 1, int(lines * MAX_BYTES / size * 0.9))
        lines = max(lines, 1)


def _unsliced(codebase: Codebase, located: Sequence[str], why: str) -> Material:
    """The file of the best symbol, or its lines if the file is long; then the lines of the others."""
    symbols = codebase.symbols()
    first = symbols[located[0]].symbol
    module = codebase.module(first)
    whole = _size(module.text) <= _SOFT_LIMIT
    commit = (codebase.repository.commit or codebase.repository.id.rpartition("@")[2])[:7]
    mark = "#" if module.language in HASH_COMMENTS else "//"

    def part(symbol: Symbol, text: str, lines: str) -> str:
        return f"{mark} --- {symbol.path}:{lines} @ {commit}\n{text.strip(chr(10))}\n"

    parts = [part(first, module.text, f"1-{module.text.count(chr(10)) + 1}")] if whole else []
    used: list[str] = []
    for identity in located:
        symbol = symbols[identity].symbol
        if not (whole and symbol.path == first.path):
            text = part(symbol, codebase.source(symbol), f"{symbol.start_line}-{symbol.end_line}")
            if parts and _size("\n".join([*parts, text])) > _SOFT_LIMIT:
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
    return Material(fitting, tuple(used), tuple(used), packages=tuple(packages), remarks=tuple(remarks))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _head(text: str) -> str:
    """The text up to the last whole line within the limit."""
    if _size(text) <= MAX_BYTES:
        return text
    start = text.encode("utf-8", "surrogatepass")[:MAX_BYTES].decode("utf-8", "ignore")
    return start[: start.rfind("\n") + 1] or start
