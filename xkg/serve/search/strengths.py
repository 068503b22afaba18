"""Computes each technique's strength for a query and its parts, from both searches, late interaction, and other
techniques in the same paper.

Fuses scores rather than ranks, because the difference between two scores is informative. See Bruch, Gai and Ingber, "An
Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 42(1), 2023."""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, compress
from typing import TYPE_CHECKING

from xkg.model import paper_of
from xkg.store.graph_store import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TEXT, VECTOR = 0.5, 0.5
"""Weights of text search and vector search."""

INTERACTION, INTERACTING = 0.5, 50
"""Weight of late interaction relative to both searches combined, and the number of techniques for which it is
computed."""

PARTS = 0.5
"""Weight of the best-matching part of a long query, relative to the whole query."""

COMPANY = 0.3
"""Weight of the best technique from the same paper, because steps mentioned in the same query often belong together."""


class Strengths:
    """Combines the search results for a query and its parts in an array with one row per text and one column per
    technique."""

    def __init__(
        self,
        by_text: Sequence[Sequence[Hit]],
        by_vector: Sequence[Sequence[Hit]],
        depth: int,
        admitted: set[str] | None,
    ) -> None:
        import numpy as np

        scores = [dict(hits) for pair in zip(by_text, by_vector, strict=True) for hits in pair]
        if admitted is not None:
            scores = [{technique: own[technique] for technique in own if technique in admitted} for own in scores]
        self._places = {technique: place for place, technique in enumerate(dict.fromkeys(chain.from_iterable(scores)))}
        self._ids = list(self._places)
        columns = self._columns(list(chain.from_iterable(scores)))
        values = np.fromiter(chain.from_iterable(own.values() for own in scores), np.float64, len(columns))
        self._strength = np.zeros((len(by_text), len(self._ids)))
        self._there = np.zeros((len(by_text), len(self._ids)), bool)
        start = 0
        for text, pair in enumerate(zip(by_text, by_vector, strict=True)):
            # If a list is full, techniques that are not in it score no higher than its last entry. If text search
            # returned fewer techniques than requested, all others contain none of the query's words.
            floors = (pair[0][-1].score if len(pair[0]) == depth else 0.0, pair[1][-1].score if pair[1] else 0.0)
            for own, floor, weight in zip(scores[2 * text : 2 * text + 2], floors, (TEXT, VECTOR), strict=True):
                end = start + len(own)
                found = columns[start:end]
                self._there[text][found] = True
                self._strength[text][found] += weight / (TEXT + VECTOR) * _shares(values[start:end], floor)
                start = end

    def strongest(self) -> list[list[str]]:
        """Returns, for each text, the techniques for which to compute late interaction."""
        import numpy as np

        order = np.argsort(np.where(self._there, -self._strength, np.inf), axis=1, kind="stable")[:, :INTERACTING]
        found = []
        for row, there in zip(order.tolist(), self._there, strict=True):
            count = min(len(row), int(there.sum()))
            found.append([self._ids[place] for place in row[:count]])
        return found

    def interact(self, text: int, best: Sequence[str], interaction: Mapping[str, float]) -> None:
        """Adds late interaction with a text, which was computed for the `best` techniques. Values are scaled so that
        the lowest becomes 0. All other techniques get 0, except that a `best` technique without a value keeps its
        strength."""
        import numpy as np

        if not interaction:
            return
        own = self._strength[text]
        nearness = np.zeros(len(own))
        columns = self._columns(best)
        nearness[columns] = own[columns]
        columns = columns if len(interaction) == len(best) else self._columns(interaction)
        values = np.fromiter(interaction.values(), np.float64, len(interaction))
        nearness[columns] = _shares(values, float(values.min()))
        self._strength[text] = (1 - INTERACTION) * own + INTERACTION * nearness

    def together(self) -> tuple[dict[str, float], list[dict[str, float]]]:
        """Returns the strengths for the whole query, including its parts, and for each part alone."""
        import numpy as np

        whole = np.where(self._there, self._strength, 0.0)
        if len(whole) > 1:
            whole[0] = (1 - PARTS) * whole[0] + PARTS * whole[1:].max(axis=0)
        if not self._ids:
            return {}, [{} for _ in whole[1:]]
        papers = list(map(paper_of, self._ids))
        numbers = {paper: number for number, paper in enumerate(dict.fromkeys(papers))}
        of = np.fromiter(map(numbers.__getitem__, papers), np.intp, len(papers))
        order = np.argsort(of, kind="stable")
        starts = np.searchsorted(of[order], np.arange(len(numbers)))
        best = np.maximum.reduceat(whole[:, order], starts, axis=1)
        every = ((1 - COMPANY) * whole + COMPANY * best[:, of]).tolist()
        needs = [
            dict(compress(zip(self._ids, row, strict=True), there.tolist()))
            for row, there in zip(every[1:], self._there[1:], strict=True)
        ]
        return dict(zip(self._ids, every[0], strict=True)), needs

    def _columns(self, techniques: Collection[str]) -> "NDArray[np.intp]":
        import numpy as np

        return np.fromiter(map(self._places.__getitem__, techniques), np.intp, len(techniques))


def _shares(scores: "NDArray[np.float64]", floor: float) -> "NDArray[np.float64]":
    """Scales scores so that the floor becomes 0 and the best score becomes 1. If no score is above the floor, all
    scores become 1."""
    import numpy as np

    spread = float(scores.max(initial=floor)) - floor
    return np.maximum(scores - floor, 0.0) / spread if spread > 0 else np.ones(len(scores))
