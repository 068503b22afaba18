"""Creates the candidate code node for a located symbol. The node contains the symbol's slice and documentation."""

import ast
from collections.abc import Iterator

from xkg.build.code.codebase import Codebase, SourceSymbol, comment_mark
from xkg.build.slicing.slice import Slice, slice_symbols
from xkg.model import Code, Symbol, code_id
from xkg.sandbox.evidence.python_ast import syntax_tree


def code_node(technique: str, symbol_id: str, codebase: Codebase) -> tuple[Code, tuple[str, ...]]:
    """Returns the candidate code node for a technique, and the ids of the symbols in it.

    If the symbol is not in Python 3 or its file does not parse, the candidate contains only the symbol's own lines, and
    its level reflects this. Raises `UnknownIdError` if the symbol is not in the codebase."""
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
    unset = ", ".join(f"{name} = {value}" for name, value in _placeholders(cut.source).items())
    first = f"`{symbol.signature or symbol.qualified_name}`, from {_place(symbol, codebase)}."
    lines = [f"{first} Placeholders to set before use: {unset}." if unset else first]
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


def _placeholders(source: str) -> dict[str, str]:
    """Returns the variables that a module reads but only sets to None or 0, except constants (`FIRST_ROW = 0`)."""
    tree = syntax_tree(source)
    values: dict[str, set[str]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                for name, value in _pairs(target, statement.value):
                    values.setdefault(name, set()).add(ast.unparse(value))
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return {
        name: min(found)
        for name, found in values.items()
        if name in read and found <= ({"None"} if len(name) > 1 and name.isupper() else {"None", "0"})
    }


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, its)


def _place(symbol: Symbol, codebase: Codebase) -> str:
    commit = codebase.repository.commit
    return f"{symbol.path}:{symbol.start_line}-{symbol.end_line}" + (f" @ {commit[:12]}" if commit else "")
