"""Reads the repository lines from which code was generated, at the original commit.

The graph stores only the lines' positions. The text comes from the graph's folder: from the parsed repository in the
build outputs or, failing that, from the fetched commit. A caller may also specify a folder that contains the commit or
the same files."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from xkg.build.code.codebase import Codebase, comment_mark
from xkg.build.parsing.parsers import Parsers
from xkg.build.repositories.checkout import Checkout, fetch_repository, fetched
from xkg.build.stage_cache import folder_name, outputs
from xkg.errors import InputError
from xkg.model import PaperBundle, Repository, Symbol


def raw_code(
    bundle: PaperBundle, graph: Path, parsers: Parsers, folder: Path | None = None
) -> tuple[dict[str, str], str]:
    """Returns the available lines keyed by code id, and the reason if lines are missing ('' otherwise). `graph` is the
    graph's folder. If `folder` is given, the lines are read from this clone or copy of the repository instead.

    Raises `InputError` if `folder` contains neither the commit nor the files."""
    wanted = _origins(bundle)
    sources: dict[str, Codebase] = {}
    missing = []
    for repository in bundle.repositories:
        paths = {s.path for symbols in wanted.values() for s in symbols if s.repository == repository.id}
        if not paths:
            continue
        codebase = (
            _from_folder(repository, folder, paths, parsers)
            if folder
            else codebase_of(bundle, repository, graph, paths, parsers)
        )
        if codebase is None:
            missing.append(repository.url or repository.id)
        else:
            sources[repository.id] = codebase
    lines = {}
    for code, symbols in wanted.items():
        parts = [_lines(sources[s.repository], s) if s.repository in sources else None for s in symbols]
        if parts and None not in parts:
            lines[code] = "\n\n".join(filter(None, parts))
    return lines, _why(bundle, missing) if len(lines) < len(wanted) else ""


def _why(bundle: PaperBundle, missing: Sequence[str]) -> str:
    if missing:
        return f"the files of {', '.join(missing)} are not on this machine; pass a clone as `repository`"
    if bundle.paper.origin == "import":
        return "the paper was imported without the lines that its code was generated from"
    return "the repository does not contain the lines that the graph records as its source"


def _origins(bundle: PaperBundle) -> dict[str, list[Symbol]]:
    """Maps each code id to the symbols from which the code was generated, ordered by file and line. Symbols nested in
    another symbol are excluded."""
    by_id = {s.id: s for s in bundle.symbols}
    symbols_of: dict[str, list[Symbol]] = {c.id: [] for c in bundle.code}
    for derivation in bundle.derivations:
        symbols_of[derivation.code].append(by_id[derivation.symbol])
    return {code: _outermost(symbols) for code, symbols in symbols_of.items()}


def _outermost(symbols: Iterable[Symbol]) -> list[Symbol]:
    outermost: list[Symbol] = []
    for symbol in sorted(symbols, key=lambda s: (s.repository, s.path, s.start_line, -s.end_line)):
        last = outermost[-1] if outermost else None
        inside = last and (last.repository, last.path) == (symbol.repository, symbol.path)
        if not (inside and last and symbol.end_line <= last.end_line):
            outermost.append(symbol)
    return outermost


def _from_folder(repository: Repository, folder: Path, paths: set[str], parsers: Parsers) -> Codebase:
    spec = f"{folder}@{repository.commit}" if repository.commit else str(folder)
    checkout = fetch_repository(spec, folder)
    repository_at = checkout.repository
    if repository.commit is None and repository_at.id.rpartition("@")[2] != repository.id.rpartition("@")[2]:
        raise InputError(f"{folder} does not contain the files that the code was generated from, {repository.id}")
    parsed = _parsed(checkout, paths, parsers)
    if parsed is None:
        raise InputError(f"{folder} contains none of the files that the code was generated from; use a complete clone")
    return parsed


def codebase_of(
    bundle: PaperBundle, repository: Repository, graph: Path, paths: set[str], parsers: Parsers
) -> Codebase | None:
    """Returns a paper's parsed repository, or only the given files from it. Returns None if the repository is not on
    this machine."""
    for codebase in outputs(graph / "work" / folder_name(bundle.paper.id), "symbols", Codebase):
        if codebase.repository.id == repository.id:
            return codebase
    checkout = fetched(repository, graph / "repositories")
    return None if checkout is None else _parsed(checkout, paths, parsers)


def _parsed(checkout: Checkout, paths: set[str], parsers: Parsers) -> Codebase | None:
    try:
        return parsers.repository(replace(checkout, files=tuple(f for f in checkout.files if f.path in paths)))
    except InputError:
        return None


def _lines(codebase: Codebase, symbol: Symbol) -> str | None:
    """Returns a comment with the symbol's position, followed by its lines. Returns None if the symbol is not at this
    position in the file."""
    module = next((m for m in codebase.modules if m.path == symbol.path), None)
    if module is None:
        return None
    spans = {(s.symbol.start_line, s.symbol.end_line) for s in module.symbols if _same(s.symbol, symbol)}
    if (symbol.start_line, symbol.end_line) not in spans:
        return None
    mark = comment_mark(module.language)
    place = f"{symbol.path}:{symbol.start_line}-{symbol.end_line}"
    text = "\n".join(module.text.split("\n")[symbol.start_line - 1 : symbol.end_line])
    return f"{mark} {place}\n{text}"


def _same(first: Symbol, other: Symbol) -> bool:
    return (first.path, first.qualified_name) == (other.path, other.qualified_name)
