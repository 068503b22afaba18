"""Embeds text with any sentence-transformers model, on a GPU if torch finds one.

Reimers and Gurevych, "Sentence-BERT", EMNLP 2019. For all-MiniLM-L6-v2, the cosine
similarity to the default runtime's vectors is at least 0.999, so both runtimes share an index and a cache."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xkg.embeddings.base import ENCODED_CHARACTERS, MINILM, EncodedText, word_sums
from xkg.embeddings.onnx_weights import in_hub_cache
from xkg.embeddings.published_weights import installed
from xkg.errors import EmbeddingError
from xkg.text.unicode import encodable

_BATCH = 64


class SentenceTransformersEmbedder:
    """Loads `model` from the folder `weights`, an installed package, the hub's cache or the model hub, in that order.
    `threads` limits the CPU threads that torch uses in the whole process.

    Code included with a model is never run. Safe to call from several threads. Raises `EmbeddingError` if the package
    is missing, or if the model cannot be loaded or does not return one vector per text."""

    def __init__(self, model: str, weights: Path | None = None, threads: int = 2) -> None:
        try:
            import torch
            from sentence_transformers import SentenceTransformer
            from transformers.utils.logging import disable_progress_bar
        except ImportError as error:
            raise EmbeddingError(
                f"embedding.provider is sentence-transformers, but {error.name or 'its package'} cannot be imported; "
                "run `pip install '.[st]'` where xkg was cloned"
            ) from error
        disable_progress_bar()  # a command must print only its result
        torch.set_num_threads(threads)
        source = weights or (installed() if model == MINILM else in_hub_cache(model)) or model
        try:
            self._encoder: Any = SentenceTransformer(str(source), trust_remote_code=False)
        except Exception as error:  # each of the package's libraries has its own exception classes
            reason = " ".join(str(error).split())[:200]
            raise EmbeddingError(
                f"{source} cannot be loaded by sentence-transformers ({reason}); check embedding.model, or set "
                "embedding.weights to a folder"
            ) from error
        dimension = self._encoder.get_embedding_dimension()
        if dimension is None:
            raise EmbeddingError(f"{source} does not return vectors of a fixed length; change embedding.model")
        self.model = model
        self.dimension = int(dimension)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        vectors = self._encoded(texts, normalize_embeddings=True, convert_to_numpy=True)
        result: NDArray[np.float32] = np.asarray(vectors, np.float32)
        return result

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        """Like `embed`, but also returns the words of each text if the tokenizer provides offsets."""
        tokenizer: Any = getattr(self._encoder, "tokenizer", None)
        if not texts or not getattr(tokenizer, "is_fast", False):
            none = np.empty((0, 0), np.uint8)
            return [EncodedText(vector, (), none) for vector in self.embed(texts)]
        readings = []
        for text, output in zip(texts, self._encoded(texts, output_value=None), strict=True):
            vector = output["sentence_embedding"].float().cpu().numpy()
            hidden = output["token_embeddings"][output["attention_mask"].bool()].float().cpu().numpy()
            encoding = tokenizer(_readable(text), truncation=True, max_length=len(hidden), return_offsets_mapping=True)
            found = word_sums(text, hidden, encoding.word_ids(), encoding["offset_mapping"])
            unit = vector / max(float(np.linalg.norm(vector)), 1e-12)
            readings.append(EncodedText(unit, found.words, found.codes))
        return readings

    def _encoded(self, texts: Sequence[str], **how: Any) -> Any:
        try:
            return self._encoder.encode(
                [_readable(text) for text in texts], batch_size=_BATCH, show_progress_bar=False, **how
            )
        except RuntimeError as error:  # errors from torch, such as too little GPU memory
            reason = " ".join(str(error).split())[:200]
            raise EmbeddingError(f"{self.model} cannot embed ({reason}); set embedding.provider to onnx") from error


def _readable(text: str) -> str:
    return encodable(text[:ENCODED_CHARACTERS])
