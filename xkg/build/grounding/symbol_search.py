"""Searches a repository's symbols for a paper's techniques. Uses BM25, embeddings and a fusion of both."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from xkg.build.grounding.index.symbol_index import Entry, SymbolIndex, rendering
from xkg.build.grounding.query import TechniqueQuery
from xkg.embeddings.base import Embedder
from xkg.fusion import reciprocal_rank_fusion

# Embedding is slow. In larger repositories, only symbols that match a technique's words are embedded.
_EMBEDDED = 700
_DEPTH = 200


class SymbolSearch:
    """Searches a codebase for all techniques in one batch.

    `lexical[i]` contains BM25 scores for the words in the name and definition of technique i. `named[i]` contains BM25
    scores for the name alone. `similarity[i]` contains cosine similarities. Each element maps the ids of symbols or
    their parts to scores, best first."""

    def __init__(
        self, index: SymbolIndex, queries: Sequence[TechniqueQuery], vectors: NDArray[np.float32], embedder: Embedder
    ) -> None:
        """Searches for all techniques. `vectors[i]` is the embedding of technique i. Raises `EmbeddingError`."""
        self.index = index
        self.weights = [query.plain_weights(index) for query in queries]
        self.lexical = [index.search_parts(weights) for weights in self.weights]
        self.named = [index.search_parts(query.name_weights(index.vocabulary)) for query in queries]
        self.similarity: list[dict[str, float]] = [{} for _ in queries]
        embedded = self._to_embed()
        if not embedded or not queries:
            return
        symbols = embedder.embed([rendering(index.entries[symbol]) for symbol in embedded])
        self.similarity = [_ranked(embedded, row) for row in vectors @ symbols.T]

    def fused(self, i: int, limit: int) -> list[str]:
        """Returns the best symbols for technique i, combining all three searches by reciprocal rank fusion."""
        rankings = [list(ranking)[:_DEPTH] for ranking in (self.lexical[i], self.named[i], self.similarity[i])]
        return [symbol for symbol, _ in reciprocal_rank_fusion(rankings)[:limit]]

    def _to_embed(self) -> list[str]:
        eligible = [entry.id for entry in self.index.entries.values() if _has_content(entry)]
        if len(eligible) <= _EMBEDDED:
            return eligible
        eligible_ids = set(eligible)
        fused = reciprocal_rank_fusion([[s for s in ranking if s in eligible_ids][:_DEPTH] for ranking in self.lexical])
        chosen = {symbol for symbol, _ in fused[:_EMBEDDED]}
        return [symbol for symbol in eligible if symbol in chosen]


def _has_content(entry: Entry) -> bool:
    """Returns whether a symbol is worth embedding. Files that only define things, and supporting methods, are not."""
    return not entry.supports and (entry.kind != "module" or entry.is_script)


def _ranked(ids: Sequence[str], values: NDArray[np.float32]) -> dict[str, float]:
    order = np.lexsort((np.arange(len(ids)), -values))
    return {ids[j]: float(values[j]) for j in order}
