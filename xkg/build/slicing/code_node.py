"""Creates the candidate code node for a located symbol: its slice and documentation."""

from xkg.build.code.codebase import Codebase, SourceSymbol, comment_mark
from xkg.build.slicing.slice import Slice, slice_symbols
from xkg.model import Code, Symbol, code_id


def code_node(technique: str, symbol_id: str, codebase: Codebase) -> tuple[Code, tuple[str, ...]]:
    """Returns the candidate code node for a technique, and the ids of the symbols in it.

    A symbol cannot be sliced if it is not in Python 3, or if its file does not parse. The candidate then contains only
    the symbol's own lines, and the level indicates that the code was not tried or does not parse. Raises
    `UnknownIdError` for a symbol that is not in the codebase."""
    cut = slice_symbols(codebase, [symbol_id])
    source = codebase.symbols()[symbol_id]
    language = codebase.module(source.symbol).language
    if cut.refused:
        mark = comment_mark(language)
        implementation = f"{mark} --- {_place(source.symbol, codebase)}\n{codebase.source(source.symbol)}\n"
        made_from: tuple[str, ...] = (symbol_id,)
    else:
        implementation, made_from = cut.source, cut.derived_from
    node = Code(
        id=code_id(technique, implementation, ""),
        technique=technique,
        implementation=implementation,
        documentation=_documentation(source, cut, codebase),
        language=language,
        packages=cut.packages,
    )
    return node, made_from


def _documentation(source: SourceSymbol, cut: Slice, codebase: Codebase) -> str:
    symbol = source.symbol
    lines = [f"`{symbol.signature or symbol.qualified_name}`, from {_place(symbol, codebase)}."]
    if source.docstring:
        lines += ["", source.docstring.strip()]
    if cut.refused:
        lines += ["", f"Contains only the symbol's own lines, not the code that it needs: {cut.refused}."]
    if cut.cut:
        names = ", ".join(c.rpartition("::")[2] for c in cut.cut[:8])
        lines += ["", f"Left out to stay within {len(cut.source.splitlines())} lines: {names}."]
    for name, why in cut.missing.items():
        lines += ["", f"Uses {name}: {why}."]
    for note in cut.notes:
        lines += ["", note]
    return "\n".join(lines)


def _place(symbol: Symbol, codebase: Codebase) -> str:
    commit = codebase.repository.commit
    return f"{symbol.path}:{symbol.start_line}-{symbol.end_line}" + (f" @ {commit[:12]}" if commit else "")
