"""A second look at the best candidates by a model that reads query and technique together.

Nogueira and Cho, "Passage Re-ranking with BERT", arXiv:1901.04085, 2019. Off unless one is given: it costs a run of the
model for each candidate.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from xkg.embeddings.onnx_weights import ONNX, load_session, load_tokenizer, read_json, weights_file
from xkg.errors import EmbeddingError
from xkg.store.graph_store import Snapshot
from xkg.unicode import encodable

RERANKED = 20
TEXT_CHARACTERS = 2000
_MAX_TOKENS = 512


class Reranker(Protocol):
    """`scores` gives a number for each text, higher where it answers the query better. Raises `EmbeddingError`."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]: ...


class CrossEncoder:
    """A cross-encoder from the folder `weights`, which holds `tokenizer.json` and `model.onnx` (or `onnx/model.onnx`)
    as those of sentence-transformers on the Hugging Face hub do: nothing is fetched, and no code that comes with a
    model is run. Safe to call from several threads. Raises `EmbeddingError` where the model cannot be loaded, or gives
    something else than one score for a pair of texts."""

    def __init__(self, weights: Path, threads: int = 2) -> None:
        file = weights_file(weights, ONNX)
        if file is None or not (weights / "tokenizer.json").is_file():
            raise EmbeddingError(
                f"{weights} holds no tokenizer.json with model.onnx: set serve.reranker to the folder of a "
                "cross-encoder in ONNX format"
            )
        config = read_json(weights / "config.json")
        self._tokenizer = load_tokenizer(
            weights, min(_MAX_TOKENS, config.get("max_position_embeddings") or _MAX_TOKENS)
        )
        self._tokenizer.enable_padding(pad_id=config.get("pad_token_id") or 0)
        self._session = load_session(file, config, threads)
        self._inputs = [given.name for given in self._session.get_inputs()]
        shape = self._session.get_outputs()[0].shape
        if set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"} or len(shape) != 2 or shape[1] != 1:
            raise EmbeddingError(
                f"{file}: not a cross-encoder of one score (inputs {', '.join(self._inputs)}; output {shape}): set "
                "serve.reranker to the folder of one"
            )

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        import numpy as np

        if not texts:
            return []
        pairs = [(encodable(query), encodable(text)) for text in texts]
        encodings = self._tokenizer.encode_batch(pairs)
        feeds = {
            "input_ids": [encoding.ids for encoding in encodings],
            "attention_mask": [encoding.attention_mask for encoding in encodings],
            "token_type_ids": [encoding.type_ids for encoding in encodings],
        }
        (found,) = self._session.run(
            [self._session.get_outputs()[0].name], {name: np.array(feeds[name], np.int64) for name in self._inputs}
        )
        scores: list[float] = found[:, 0].tolist()
        return scores


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
