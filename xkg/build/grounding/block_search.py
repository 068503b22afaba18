"""Searches a repository's blocks for a paper's techniques with BM25 and embeddings."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from xkg.build.grounding.index.block_index import BlockIndex, IndexedBlock
from xkg.build.grounding.index.identifier_words import words
from xkg.build.grounding.index.symbol_index import comments_of, strip_comments
from xkg.build.grounding.query import TechniqueQuery
from xkg.embeddings.base import Embedder

_SYMBOL_WEIGHT = 0.5
_RENDERED_WORDS = 40
_EMBEDDED = 700
_EMBEDDED_EACH = 60
# The MiniLM cosine similarity between a paragraph and the matching code rarely exceeds this value.
_HIGH_COSINE = 0.6


class BlockSearch:
    """Scores a repository's blocks for each technique in a paper. `scores[i]` maps block ids to scores from 0 to 1 for
    technique i, best first."""

    def __init__(
        self,
        index: BlockIndex,
        queries: Sequence[TechniqueQuery],
        vectors: NDArray[np.float32],
        embedder: Embedder,
        near: Sequence[Iterable[str]],
    ) -> None:
        """Searches for all techniques. `vectors[i]` is the embedding of technique i. The embedding is compared with the
        blocks that have the best BM25 scores, and with all blocks of the symbols in `near[i]`. Raises
        `EmbeddingError`."""
        self.index = index
        self._of_symbol: dict[tuple[int, str], list[tuple[IndexedBlock, float]]] = {}
        lexical = []
        for query in queries:
            marked = {f"={symbol}": _SYMBOL_WEIGHT for symbol in query.symbols}
            lexical.append(index.words.search({**query.weights(index.symbols), **marked}))
        chosen = _interleaved(
            [
                [*list(ranking)[:_EMBEDDED_EACH], *(b.id for symbol in symbols for b in index.inside(symbol))]
                for ranking, symbols in zip(lexical, near, strict=True)
            ]
        )[:_EMBEDDED]
        cosine: list[dict[str, float]] = [{} for _ in queries]
        if chosen and queries:
            for i, row in enumerate(vectors @ embedder.embed([self._rendering(block) for block in chosen]).T):
                cosine[i] = dict(zip(chosen, map(float, row), strict=True))
        self.scores = [_fused(ranking, similar) for ranking, similar in zip(lexical, cosine, strict=True)]

    def best_of_symbols(self, i: int) -> dict[str, float]:
        """Maps each symbol id to the highest score for technique i. Considers only blocks directly in the symbol."""
        best: dict[str, float] = {}
        for block, score in self.scores[i].items():
            best.setdefault(self.index.blocks[block].symbol, score)
        return best

    def of_symbol(self, i: int, symbol: str) -> list[tuple[IndexedBlock, float]]:
        """Returns a symbol's blocks with their scores for technique i, best first. Blocks with the same score are in
        line order."""
        if (i, symbol) not in self._of_symbol:
            found = [(block, self.scores[i].get(block.id, 0.0)) for block in self.index.inside(symbol)]
            self._of_symbol[i, symbol] = sorted(found, key=lambda pair: -pair[1])
        return self._of_symbol[i, symbol]

    def _rendering(self, block: str) -> str:
        found = self.index.blocks[block]
        entry = self.index.symbols.entries[found.symbol]
        owner = " ".join(words(entry.source.symbol.qualified_name))
        code = " ".join(dict.fromkeys(words(strip_comments(found.text, entry.language))))
        text = f"{owner}. {comments_of(found.text, entry.language)[:300]} {code}"
        return " ".join(text.split()[:_RENDERED_WORDS])


def _interleaved(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Interleaves the rankings without duplicates. The top items of all rankings come first, then the second items, and
    so on."""
    longest = max(map(len, rankings), default=0)
    return list(dict.fromkeys(ranking[at] for at in range(longest) for ranking in rankings if at < len(ranking)))


def _fused(lexical: dict[str, float], cosine: dict[str, float]) -> dict[str, float]:
    best = next(iter(lexical.values()), 0.0)
    scores = {
        block: 0.5 * (lexical.get(block, 0.0) / best if best else 0.0)
        + 0.5 * min(1.0, max(0.0, cosine.get(block, 0.0) / _HIGH_COSINE))
        for block in lexical.keys() | cosine.keys()
    }
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))
