"""How much code a technique's question has, and how much of it concerns the technique: `python -m evaluation.slices
GOLD…` (evaluation/gold/places).

Each technique is located where a reader labelled it: at the narrowest symbols that contain the reader's places.
Columns: `characters` of the code from which a model writes (mean, median, and the longest); `place`, the share of the
places' lines that are in it (mean); `own`, the share of its characters that belong to the located symbols (mean);
`packages` that it imports (mean); `undefined`, the number of slices that use a name that nothing in them defines; and
`second`, of the techniques with several places, the number for which all places are in it. `--each` prints a line for
each technique too."""

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from evaluation.inputs.command import run_command
from evaluation.places import gold_rows, open_codebase
from xkg.build.code.codebase import Codebase
from xkg.build.guided.coding.material import Material, material
from xkg.model import Symbol

Span = tuple[str, int, int]


@dataclass(frozen=True)
class Row:
    """The material of one technique, the lines of its places and the source of its located symbols."""

    technique: str
    found: Material
    located: tuple[str, ...]
    places: tuple[tuple[str, ...], ...]
    own: str


def narrowest(codebase: Codebase, span: Span) -> Symbol | None:
    """The symbol with the fewest lines that contains a place; otherwise the one that shares the most lines with it."""
    path, first, last = span
    inside = [s.symbol for s in codebase.symbols().values() if s.symbol.path == path and s.symbol.kind != "constant"]

    def shared(symbol: Symbol) -> int:
        return max(0, min(symbol.end_line, last) - max(symbol.start_line, first) + 1)

    def rank(symbol: Symbol) -> tuple[bool, bool, int, int]:
        whole = shared(symbol) == last - first + 1
        return not whole, symbol.kind == "module", -shared(symbol), symbol.end_line - symbol.start_line

    return min((s for s in inside if shared(s)), key=rank, default=None)


def measured(codebase: Codebase, technique: str, spans: Sequence[Span]) -> Row | None:
    """None if no source file contains the places."""
    symbols = [symbol for span in spans if (symbol := narrowest(codebase, span)) is not None]
    located = tuple(dict.fromkeys(symbol.id for symbol in symbols))
    if not located:
        return None
    texts = {module.path: module.text.split("\n") for module in codebase.modules}
    places = tuple(
        tuple(line.strip() for line in texts[path][first - 1 : last] if line.strip())
        for path, first, last in spans
        if path in texts
    )
    own = "\n".join(codebase.source(codebase.symbols()[identity].symbol) for identity in located)
    return Row(technique, material(codebase, located), located, places, own)


def present(row: Row) -> list[float]:
    """For each place, the share of its lines that are in the material."""
    lines = {line.strip() for line in row.found.code.splitlines()}
    return [sum(line in lines for line in place) / len(place) for place in row.places if place]


def table(rows: Sequence[Row]) -> str:
    """The columns described above, as one line under a heading."""
    sizes = [len(row.found.code) for row in rows]
    shares = [share for row in rows for share in present(row)]
    own = [min(1.0, len(row.own) / max(1, len(row.found.code))) for row in rows]
    undefined = sum(any("nothing defines it" in remark for remark in row.found.remarks) for row in rows)
    several = [row for row in rows if len(row.located) > 1]
    kept = sum(min(present(row), default=0.0) > 0.5 for row in several)
    heading = "count   mean  median longest  place   own  packages  undefined  second"
    return (
        f"{heading}\n{len(rows):5d} {statistics.fmean(sizes):6.0f} {statistics.median(sizes):7.0f} {max(sizes):7d} "
        f"{statistics.fmean(shares):6.3f} {statistics.fmean(own):5.2f} "
        f"{statistics.fmean(len(row.found.packages) for row in rows):9.2f} {undefined:10d}  {kept}/{len(several)}"
    )


def rows_of(gold: Iterable[Path], mirrors: Path | None) -> Iterator[Row]:
    """A row for every technique of the gold files whose places are in source files: those of its first reader."""
    found = sorted((row for path in gold for row in gold_rows(path)), key=lambda row: str(row["repository"]))
    for repository, techniques in groupby(found, key=lambda row: str(row["repository"])):
        codebase = open_codebase(repository, mirrors)
        for row in techniques:
            first = min((at["reader"] for at in row["places"]), default=0)
            spans = [(at["file"], at["start"], at["end"]) for at in row["places"] if at["reader"] == first]
            if (made := measured(codebase, row["technique"], spans)) is not None:
                yield made


def main(gold: Sequence[Path], *, mirrors: Path | None = None, each: bool = False) -> None:
    rows = list(rows_of(gold, mirrors))
    for row in rows if each else ():
        places = ", ".join(f"{share:.2f}" for share in present(row))
        symbols = ", ".join(identity.partition("@")[2].partition(":")[2] for identity in row.located)
        print(f"{len(row.found.code):6d}  {places:12}  {row.technique[:50]:50}  {symbols}")
    print(table(rows))


if __name__ == "__main__":
    run_command(main)
