"""How much of the readers' marked lines a built graph covers: with its stored places, and with its code nodes.

The paper of a gold file is the one whose repository contains most of the gold's files. A gold technique is the graph's
technique that `evaluation.construction.matching` pairs with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.construction.against_gold import cosines
from evaluation.construction.hierarchy import GoldTechnique
from evaluation.construction.matching import Similarity, match
from evaluation.lines.overlap import Lines, span, together
from evaluation.results.document import Figure, mean_figure
from xkg.model import PaperBundle


@dataclass(frozen=True)
class MarkedTechnique:
    """A technique with the places that readers marked."""

    id: str
    name: str
    places: tuple[Lines, ...]


def bundle_of(marked: Sequence[MarkedTechnique], bundles: Sequence[PaperBundle]) -> PaperBundle | None:
    """The paper whose symbols are in most of the marked files; None if no paper has any of them."""
    files = {path for technique in marked for place in technique.places for path, _ in place}
    held = [(len(files & {symbol.path for symbol in bundle.symbols}), n) for n, bundle in enumerate(bundles)]
    most, n = max(held, key=lambda pair: (pair[0], -pair[1]), default=(0, 0))
    return bundles[n] if most else None


def scores(
    marked: Sequence[MarkedTechnique], bundle: PaperBundle, similarity: Similarity = cosines
) -> dict[str, dict[str, float]]:
    """By score name, one number in 0..1 per marked place (`<technique id>@<number>`): whether any technique of the
    build has a place that shares a line with it, whether its own technique has, the share of its lines in its own
    technique's places, and the share in the symbols of its code node. A technique that is not in the build covers
    nothing."""
    symbols = {symbol.id: span(symbol.path, symbol.start_line, symbol.end_line) for symbol in bundle.symbols}
    paths = {symbol.id: symbol.path for symbol in bundle.symbols}
    located: dict[str, list[Lines]] = {}
    for location in bundle.locations:
        focus = [span(paths[location.symbol], at.start_line, at.end_line) for at in location.focus]
        located.setdefault(location.technique, []).append(together(focus) or symbols[location.symbol])
    technique_of = {code.id: code.technique for code in bundle.code}
    sources: dict[str, list[Lines]] = {}
    for derivation in bundle.derivations:
        if derivation.code in technique_of and derivation.symbol in symbols:
            sources.setdefault(technique_of[derivation.code], []).append(symbols[derivation.symbol])
    golds = {GoldTechnique(path=(technique.id, technique.name)): technique for technique in marked}
    pairs = match(bundle.techniques, list(golds), similarity).pairs
    own: Mapping[str, str] = {golds[pair.gold].id: pair.technique.id for pair in pairs}
    anywhere = together(lines for places in located.values() for lines in places)
    found: dict[str, dict[str, float]] = {}
    for technique in marked:
        mine = own.get(technique.id, "")
        places, code = together(located.get(mine, [])), together(sources.get(mine, []))
        for number, place in enumerate(technique.places):
            item = f"{technique.id}@{number}"
            for name, value in (
                ("gold places touched by any technique", float(bool(place & anywhere))),
                ("gold places touched by their technique", float(bool(place & places))),
                ("lines of gold places in its places", len(place & places) / len(place)),
                ("lines of gold places in its code", len(place & code) / len(place)),
            ):
                found.setdefault(name, {})[item] = value
    return found


def figures(scores_by_name: Mapping[str, Mapping[str, float]]) -> list[Figure]:
    """The means over places, with intervals over gold files."""
    return [mean_figure(name, values, source="readers' places") for name, values in scores_by_name.items()]
