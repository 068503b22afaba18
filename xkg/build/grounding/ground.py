"""Locates techniques in a repository by ranking the symbols for each technique.

A hybrid search proposes candidates, and several kinds of evidence rank them. Marks places with too little evidence as
doubtful or weak, because plausible but irrelevant code is worse than no code. Does not use a language model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xkg.build.code.codebase import Codebase
from xkg.build.grounding.certainty import is_certain
from xkg.build.grounding.evidence import own_name
from xkg.build.grounding.focus import focus
from xkg.build.grounding.index.block_index import BlockIndex
from xkg.build.grounding.index.symbol_index import Entry, SymbolIndex
from xkg.build.grounding.index.symbol_roles import holds_nothing
from xkg.build.grounding.places import are_twins, places
from xkg.build.grounding.query import TechniqueQuery, technique_queries
from xkg.build.grounding.ranking import Ranking
from xkg.build.paper.document import Document
from xkg.embeddings.base import Embedder
from xkg.model import WEAK, Confidence, LineRange, Location, Technique
from xkg.value import Value

PLACES = 20
"""Maximum number of places ranked and stored for a technique."""
_RANKED = 50  # symbols, some of which merge into one place
# A place belongs to another technique if that technique's name fits better by at least this margin.
_BETTER = 0.2
# All of a technique's places are weak if the best one matches less than this fraction of the technique's name.
_NAMED = 0.3


class Grounding(Value):
    """The locations of techniques in a repository.

    `locations` follows the order of the techniques, with the best location for each technique first. A technique has no
    locations if none of its words occur in the repository. `primaries` maps techniques to the symbols from which their
    code is sliced."""

    locations: tuple[Location, ...] = ()
    primaries: Mapping[str, str] = {}

    @property
    def certain(self) -> frozenset[str]:
        """Returns the techniques whose best place is certain."""
        return self._best("certain")

    @property
    def doubtful(self) -> frozenset[str]:
        """Returns the techniques whose best place is doubtful. Techniques with only weak places are neither certain nor
        doubtful."""
        return self._best("doubtful") - self.certain

    def _best(self, confidence: Confidence) -> frozenset[str]:
        return frozenset(at.technique for at in self.locations if at.confidence == confidence)

    def of(self, technique: str) -> tuple[Location, ...]:
        """Returns the locations for one technique, best first."""
        return tuple(location for location in self.locations if location.technique == technique)


def ground(
    techniques: Sequence[Technique],
    codebase: Codebase,
    embedder: Embedder,
    document: Document | None = None,
    *,
    index: BlockIndex | None = None,
) -> Grounding:
    """Ranks up to `PLACES` places in a repository for each technique, with scores from 0 to 1 and ranks from 1. A
    technique has no places if no code matches its words or meaning.

    The paper's `document` supplies abbreviations, and names from equations and algorithms near each technique's
    excerpts. `index` is the codebase's index, if it is already built. The results are deterministic for a given
    embedding model. Raises `EmbeddingError`."""
    if not techniques or not codebase.modules:
        return Grounding()
    index = index or BlockIndex(SymbolIndex(codebase))
    queries = technique_queries(techniques, document)
    ranking = Ranking(index, queries, embedder)
    locations: list[Location] = []
    primaries: dict[str, str] = {}
    for i, query in enumerate(queries):
        ranked = [found for found in ranking.candidates(i)[:_RANKED] if found.evidence.score > 0]
        if not ranked or not query.about:
            continue
        found = places(ranked, ranking.blocks, i, PLACES)
        first = found[0].candidate
        certain = (
            is_certain(first, ranked, index.symbols.entries)
            and (first.evidence.own_name >= first.evidence.name or not query.cited)
            and not _is_of_another(query, index.symbols.entries[first.symbol], queries, index.symbols)
        )
        if certain:
            sliced = primary([found.symbol for found in ranked], index.symbols)
            if not holds_nothing(index.symbols.entries[sliced], query.about):
                primaries[query.technique] = sliced
        weak = not certain and (first.evidence.name < _NAMED or query.cited)
        for rank, place in enumerate(found, start=1):
            candidate = place.candidate
            locations.append(
                Location(
                    technique=query.technique,
                    symbol=candidate.symbol,
                    score=round(candidate.evidence.score * (WEAK if weak else 1.0), 4),
                    rank=rank,
                    focus=focus(ranking.blocks, i, query, candidate.symbol, candidate.part),
                    twins=place.twins,
                    doubtful=rank > 1 or not certain,
                )
            )
    return Grounding(locations=tuple(locations), primaries=primaries)


def _is_of_another(query: TechniqueQuery, place: Entry, queries: Sequence[TechniqueQuery], index: SymbolIndex) -> bool:
    """Returns whether the name of another technique matches a place, or the class that contains it, better than this
    technique's name does."""
    around = index.entries.get(place.source.parent or "")
    entries = [place, around] if around is not None and around.kind == "class" else [place]
    own = max(own_name(query, entry, index) for entry in entries)
    others = (other for other in queries if other.technique != query.technique)
    return any(own_name(other, entry, index) >= own + _BETTER for other in others for entry in entries)


@dataclass(frozen=True)
class Candidates:
    """The highest-ranked symbols for each technique, best first. There is no minimum score; the caller decides which
    symbols to use.

    `focus` returns a symbol's line ranges that implement a technique, best first."""

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
    """Returns up to `limit` symbols per technique, ranked as in `ground`. Of several near-identical symbols, always
    returns the same one. Raises `EmbeddingError`."""
    index = BlockIndex(SymbolIndex(codebase))
    queries = technique_queries(techniques, document)
    ranking = Ranking(index, queries, embedder)
    number = {query.technique: i for i, query in enumerate(queries)}
    entries = index.symbols.entries
    ranked = {t: [found.symbol for found in ranking.candidates(i)[:_RANKED]] for t, i in number.items()}
    # The first symbol in file order represents all copies, so that a function and its part come from one file.
    one_of_twins: dict[str, str] = {}
    for symbol in sorted({symbol for found in ranked.values() for symbol in found}):
        ones = (other for other, one in one_of_twins.items() if other == one)
        one_of_twins[symbol] = next((one for one in ones if are_twins(entries[one], entries[symbol])), symbol)
    symbols = {t: tuple(dict.fromkeys(map(one_of_twins.__getitem__, found)))[:limit] for t, found in ranked.items()}

    def ranges(technique: str, symbol: str) -> tuple[LineRange, ...]:
        i = number[technique]
        return focus(ranking.blocks, i, queries[i], symbol)

    return Candidates(index.symbols, symbols, ranges)


def primary(symbols: Sequence[str], index: SymbolIndex) -> str:
    """Returns the symbol from which a technique's code is sliced, usually the first of `symbols`, which are sorted best
    first. However, a file of definitions is replaced with its best symbol, and a special method with its class."""
    best = index.entries[symbols[0]]
    if best.kind == "module" and not best.is_script:
        inside = (symbol for symbol in symbols if symbol != best.id and symbol.startswith(f"{best.id}::"))
        return next(inside, best.id)
    if best.short_name.startswith("__") and best.source.parent in index.entries:
        return str(best.source.parent)
    return best.id
