"""Locates techniques in a repository: techniques → ranked symbols, or none.

Hybrid search proposes candidates; evidence of several kinds and the call graph rank them. A technique supported by only
one kind of evidence is not located, since plausible but irrelevant code is worse than none. No language model is used.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xkg.build.code.codebase import Codebase
from xkg.build.grounding.focus import focus
from xkg.build.grounding.index.block_index import BlockIndex
from xkg.build.grounding.index.symbol_index import SymbolIndex
from xkg.build.grounding.places import places
from xkg.build.grounding.query import technique_queries
from xkg.build.grounding.ranking import LEAST_SUPPORT, Ranking
from xkg.build.paper.document import Document
from xkg.embeddings.base import Embedder
from xkg.model import LineRange, Location, Technique
from xkg.value import Value

_LIMIT = 5
_RANKED = 20  # symbols, some of which become one place
_LEAST_SHARE = 0.3
_NEARLY = 0.95  # of the best score: which of the two comes first is then chance


class Grounding(Value):
    """`locations` in the order of the techniques, best first; a technique that fits nowhere has none. `primaries` maps
    each technique whose code is sliced to the symbol to slice it from."""

    locations: tuple[Location, ...] = ()
    primaries: Mapping[str, str] = {}

    @property
    def doubtful(self) -> frozenset[str]:
        """The techniques whose locations are doubtful: with less support than `UNDOUBTED_SUPPORT`, or of low confidence
        by the model."""
        return frozenset(location.technique for location in self.locations if location.doubtful)

    def of(self, technique: str) -> tuple[Location, ...]:
        """The locations of one technique, best first."""
        return tuple(location for location in self.locations if location.technique == technique)


def ground(
    techniques: Sequence[Technique],
    codebase: Codebase,
    embedder: Embedder,
    document: Document | None = None,
    *,
    least_support: float = LEAST_SUPPORT,
    index: BlockIndex | None = None,
) -> Grounding:
    """Locates each technique in a repository: at most five symbols, scores in 0..1, ranks from 1; none where nothing
    is well supported. The paper's `document` adds its own abbreviations, and the names in the equations and algorithms
    beside a technique's excerpts. With `least_support` 0 whatever ranks best is located. `index` is the codebase's, if
    already built. Deterministic for one embedding model. Raises `EmbeddingError`.
    """
    if not techniques or not codebase.modules:
        return Grounding()
    index = index or BlockIndex(SymbolIndex(codebase))
    queries = technique_queries(techniques, document)
    ranking = Ranking(index, queries, embedder, least_support, limit=_RANKED, least_share=_LEAST_SHARE)
    ranked = ranking.rank()
    locations: list[Location] = []
    primaries: dict[str, str] = {}
    for i, technique in enumerate(techniques):
        if not ranked[technique.id]:
            continue
        if technique.id not in ranking.doubtful:
            primaries[technique.id] = primary(_whole_first(ranked[technique.id], index.symbols), index.symbols)
        locations.extend(
            Location(
                technique=technique.id,
                symbol=place.symbol,
                score=round(min(1.0, place.score), 4),
                rank=rank,
                focus=focus(ranking.blocks, i, queries[i], place.symbol),
                twins=place.twins,
                doubtful=technique.id in ranking.doubtful,
            )
            for rank, place in enumerate(places(ranked[technique.id], ranking.blocks, i, _LIMIT), start=1)
        )
    return Grounding(locations=tuple(locations), primaries=primaries)


def _whole_first(ranked: Sequence[tuple[str, float]], index: SymbolIndex) -> list[str]:
    """The symbols in their order, but that one which scores nearly as much as the first and calls it stands before it:
    its slice holds both."""
    (first, best), *others = ranked
    calling = (s for s, score in others if score >= _NEARLY * best and first in index.entries[s].source.calls)
    return list(dict.fromkeys((next(calling, first), *(symbol for symbol, _ in ranked))))


@dataclass(frozen=True)
class Candidates:
    """The symbols that rank best for each technique, best first, however little supports them: for a reader who
    decides. `focus` gives the ranges of lines of any symbol that do what a technique says, best first."""

    index: SymbolIndex
    symbols: Mapping[str, tuple[str, ...]]
    focus: Callable[[str, str], tuple[LineRange, ...]]


def candidates(
    techniques: Sequence[Technique],
    codebase: Codebase,
    embedder: Embedder,
    document: Document | None = None,
    *,
    limit: int,
) -> Candidates:
    """At most `limit` symbols for each technique in the ranking of `ground`. Raises `EmbeddingError`."""
    index = BlockIndex(SymbolIndex(codebase))
    queries = technique_queries(techniques, document)
    ranking = Ranking(index, queries, embedder, 0.0, limit=limit, least_share=0.0)
    symbols = {technique: tuple(symbol for symbol, _ in ranked) for technique, ranked in ranking.rank().items()}
    number = {query.technique: i for i, query in enumerate(queries)}

    def ranges(technique: str, symbol: str) -> tuple[LineRange, ...]:
        i = number[technique]
        return focus(ranking.blocks, i, queries[i], symbol)

    return Candidates(index.symbols, symbols, ranges)


def primary(symbols: Sequence[str], index: SymbolIndex) -> str:
    """The symbol to slice a technique's code from, given its symbols, best first: the first one, unless it is a module
    and something inside it is located too, or a special method, which stands for its class."""
    best = index.entries[symbols[0]]
    if best.kind == "module":
        inside = (symbol for symbol in symbols if symbol != best.id and symbol.startswith(f"{best.id}::"))
        return next(inside, best.id)
    if best.short_name.startswith("__") and best.source.parent in index.entries:
        return str(best.source.parent)
    return best.id
