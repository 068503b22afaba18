"""Ranks a repository's symbols for a paper's techniques by the mean of three kinds of evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from xkg.build.grounding.block_search import BlockSearch
from xkg.build.grounding.evidence import Evidence, evidence
from xkg.build.grounding.index.block_index import BlockIndex, IndexedBlock
from xkg.build.grounding.index.blocks import Block
from xkg.build.grounding.query import TechniqueQuery
from xkg.build.grounding.symbol_search import SymbolSearch
from xkg.embeddings.base import Embedder

_CANDIDATES = 50
_BLOCKS_OF = 8  # number of top symbols whose blocks are all embedded


@dataclass(frozen=True)
class Candidate:
    """A symbol with its evidence. `part` is the range of lines that the evidence covers, or None for the whole
    symbol."""

    symbol: str
    evidence: Evidence
    part: Block | None = None


class Ranking:
    """Ranks one repository's symbols for one paper's techniques."""

    def __init__(self, index: BlockIndex, queries: Sequence[TechniqueQuery], embedder: Embedder) -> None:
        """Embeds the symbols and blocks of `index`. Raises `EmbeddingError`."""
        self.queries = queries
        vectors = embedder.embed([query.text for query in queries])
        self._search = SymbolSearch(index.symbols, queries, vectors, embedder)
        self._fused = [self._search.fused(i, _CANDIDATES) for i in range(len(queries))]
        near = [[index.symbols.symbol_of(found) for found in fused][:_BLOCKS_OF] for fused in self._fused]
        self.blocks = BlockSearch(index, queries, vectors, embedder, near)

    def candidates(self, i: int) -> list[Candidate]:
        """Returns the candidates for the `i`-th technique, best first. Each symbol occurs once."""
        best_blocks = self.blocks.best_of_symbols(i)
        proposed = (*islice(self._search.lexical[i], _CANDIDATES), *self._fused[i], *islice(best_blocks, _CANDIDATES))
        best: dict[str, Candidate] = {}
        for identity in dict.fromkeys(proposed):
            found = self._candidate(i, identity)
            if found.symbol not in best or found.evidence.score > best[found.symbol].evidence.score:
                best[found.symbol] = found
        return sorted(best.values(), key=lambda found: (-found.evidence.score, found.symbol))

    def _candidate(self, i: int, identity: str) -> Candidate:
        entry = self.blocks.index.symbols.document(identity)
        symbol = entry.source.symbol.id
        inside = self.blocks.of_symbol(i, symbol)
        lines = max((score for block, score in inside if entry.at is None or _meet(block, entry.at)), default=0.0)
        return Candidate(symbol, evidence(self.queries[i], entry, self._search, i, lines), entry.at)


def _meet(block: IndexedBlock, lines: Block) -> bool:
    return block.lines.first <= lines.last and lines.first <= block.lines.last
