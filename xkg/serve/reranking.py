"""A second look at the best candidates by a model that reads query and technique together.

Nogueira and Cho, "Passage Re-ranking with BERT", arXiv:1901.04085, 2019. Off unless one is given: it costs a run of the
model for each candidate.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from xkg.errors import EmbeddingError
from xkg.store import Snapshot

RERANKED = 20
TEXT_CHARACTERS = 2000


class Reranker(Protocol):
    """`scores` gives a number for each text, higher where it answers the query better. Raises `EmbeddingError`."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]: ...


class CrossEncoderReranker:
    """A cross-encoder of sentence-transformers from the folder `weights`: nothing is fetched, and no code that comes
    with a model is run. Safe to call from several threads. Raises `EmbeddingError` without the package, or where the
    model cannot be loaded."""

    def __init__(self, weights: Path) -> None:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise EmbeddingError(
                f"a cross-encoder was asked for, and {error.name or 'its package'} cannot be imported: "
                "run `pip install '.[st]'` where xkg was cloned"
            ) from error
        try:
            self._model: Any = CrossEncoder(str(weights), trust_remote_code=False, local_files_only=True)
        except Exception as error:  # each library below raises its own tree
            reason = " ".join(str(error).split())[:200]
            raise EmbeddingError(
                f"{weights} cannot be loaded as a cross-encoder ({reason}): give the folder of one"
            ) from error

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        found = self._model.predict([(query, text) for text in texts], show_progress_bar=False)
        return [float(score) for score in found]


def reranked(
    snapshot: Snapshot, reranker: Reranker, query: str, strength: dict[str, float], most: int = RERANKED
) -> dict[str, float]:
    """Strengths in which the `most` strongest techniques stand as `reranker` orders them: they share out the values
    that they had, so what lies below stays below."""
    strongest = sorted(strength, key=lambda technique: (-strength[technique], technique))[:most]
    views = snapshot.techniques(strongest)
    best = [view.technique.id for view in views]  # without those that are gone since they were found
    texts = [
        ". ".join(part for part in (" > ".join(view.path), view.technique.definition) if part)[:TEXT_CHARACTERS]
        for view in views
    ]
    found = reranker.scores(query, texts) if best else []
    order = sorted(zip(best, found, strict=True), key=lambda pair: -pair[1])
    return strength | {technique: strength[place] for (technique, _), place in zip(order, best, strict=True)}
