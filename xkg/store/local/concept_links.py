"""Links the techniques in a set of papers, both with each other and with the techniques in all other papers. Uses a
finished catalogue and vectors."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from xkg.embeddings.base import Embedder
from xkg.model import paper_of
from xkg.store.concepts.linking import OPEN, Concept, RowLink, concept, link
from xkg.store.graph_store import Decision, Decisions
from xkg.store.index_entries import Entry, vector_text
from xkg.store.indexes.catalogue import Catalogue
from xkg.store.indexes.vectors import SLACK, VectorIndex, neighbours_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK = 1024


class LinkedConcepts:
    """Computes links. `embedder` is called if the index has no exact vectors. `decisions` contains all valid
    decisions."""

    def __init__(
        self, catalogue: Catalogue, vectors: VectorIndex, embedder: Callable[[], Embedder], decisions: Decisions
    ) -> None:
        self._catalogue = catalogue
        self._vectors = vectors
        self._embedder = embedder
        self._decisions = decisions

    def links_again(
        self, new: Sequence[Concept], matrix: "NDArray[np.float32] | None", decided: Iterable[Decision]
    ) -> tuple[list[int], list[RowLink]]:
        """Recomputes the links for all papers that are in `new` or have a decision in `decided`. `matrix` contains the
        vectors for `new`. Returns all rows in these papers, and the links of these rows."""
        import numpy as np

        numbers = {c.paper for c in new}
        papers = {paper_of(end) for decision in decided for end in (decision.first, decision.second)}
        others = set(self._catalogue.paper_numbers(papers).values()) - numbers
        known = self._concepts(self._catalogue.rows_of(others))
        concepts = [*new, *(c for c, _ in known)]
        parts = ([] if matrix is None else [matrix]) + ([self._vectors_of(known)] if known else [])
        links = self.links(concepts, np.concatenate(parts) if parts else None, whole=False)
        return [c.row for c in concepts], links

    def links(self, concepts: Sequence[Concept], matrix: "NDArray[np.float32] | None", *, whole: bool) -> list[RowLink]:
        """Returns the links for `concepts`, whose vectors are in `matrix`. `concepts` must be grouped by paper, and
        must contain either all or none of a paper's techniques. If `whole` is set, `concepts` contains all techniques
        in the graph, in row order."""
        import numpy as np

        if matrix is None:
            return []
        near = self._near(concepts, matrix)
        if whole:
            return link(concepts, matrix, near, self._decisions)
        others = self._partners(concepts, near)
        known = [*concepts, *(c for c, _ in others)]
        vectors = np.concatenate([matrix, self._vectors_of(others)]) if others else matrix
        order = sorted(range(len(known)), key=lambda n: known[n].row)
        rows = [known[n].row for n in order]
        place = {row: n for n, row in enumerate(rows)}
        together = [replace(known[n], row=place[known[n].row]) for n in order]
        among = frozenset(c.paper for c in concepts)
        found = link(together, vectors[order], [(place[a], place[b]) for a, b in near], self._decisions, among)
        return [replace(edge, first=rows[edge.first], second=rows[edge.second]) for edge in found]

    def _near(self, concepts: Sequence[Concept], matrix: "NDArray[np.float32]") -> set[tuple[int, int]]:
        """Returns the pairs of mutual nearest neighbours (`neighbours_of`) for these techniques. The pairs are computed
        for a few papers at a time, because all pairs in a large graph would not fit into memory."""
        import numpy as np

        places = np.array(self._catalogue.row_papers(), dtype=np.int64)
        groups = np.full(places[:, 0].max() + 1, -1, dtype=np.int64)
        groups[places[:, 0]] = places[:, 1]
        own = np.array([c.row for c in concepts], dtype=np.int64)
        near: set[tuple[int, int]] = set()
        for start, end in _blocks(concepts):
            numbers, found, scores = self._vectors.within(matrix[start:end], OPEN - SLACK)
            near.update(neighbours_of(own[start:end][numbers], found, scores, groups))
        return near

    def _partners(self, concepts: Sequence[Concept], near: set[tuple[int, int]]) -> list[tuple[Concept, Entry]]:
        """Returns other techniques that may be linked with `concepts`, together with their entries."""
        catalogue = self._catalogue
        partners = {row for pair in near for row in pair}
        for terse in (False, True):
            forms = {form for c in concepts for form in (c.names.terse if terse else c.names.telling)}
            partners.update(row for row, _ in catalogue.sharing(forms, terse=terse))
        ids = {c.id for c in concepts}
        pairs = [(decision.first, decision.second) for decision in self._decisions.values()]
        partners.update(catalogue.rows({end for pair in pairs if not ids.isdisjoint(pair) for end in pair}).values())
        return self._concepts(sorted(partners - {c.row for c in concepts}))

    def _concepts(self, rows: Iterable[int]) -> list[tuple[Concept, Entry]]:
        return [(concept(row, paper, entry), entry) for row, paper, entry in self._catalogue.entries(rows)]

    def _vectors_of(self, known: Sequence[tuple[Concept, Entry]]) -> "NDArray[np.float32]":
        exact = self._vectors.exact_rows([c.row for c, _ in known])
        return self._embedder().embed([vector_text(entry) for _, entry in known]) if exact is None else exact


def _blocks(concepts: Sequence[Concept]) -> Iterator[tuple[int, int]]:
    """Yields ranges of `concepts`. Each range contains whole papers with about `_BLOCK` techniques in total."""
    start = end = 0
    for _, own in groupby(concepts, key=lambda c: c.paper):
        end += sum(1 for _ in own)
        if end - start >= _BLOCK:
            yield start, end
            start = end
    if end > start:
        yield start, end
