"""Any model of sentence-transformers, on a GPU where torch finds one.

Reimers and Gurevych, "Sentence-BERT", EMNLP 2019. With the weights of all-MiniLM-L6-v2 the vectors are those of the
default runtime (to 3e-7 on 405 texts, CPU), so both share an index and a cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xkg.embed import READ_CHARACTERS, encodable
from xkg.errors import EmbeddingError
from xkg.weights import find_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH = 64


class SentenceTransformersEmbedder:
    """`model` from the folder `weights`, else from where `find_weights` finds it, else from the model hub, which the
    library then fetches it from. `threads` bounds what it uses of the CPU, in the whole process.

    Code that comes with a model is never run. Safe to call from several threads. Raises `EmbeddingError` without the
    package, or where the model cannot be loaded or does not give one vector a text.
    """

    def __init__(self, model: str, weights: Path | None = None, threads: int = 2) -> None:
        try:
            import torch
            from sentence_transformers import SentenceTransformer
            from transformers.utils.logging import disable_progress_bar
        except ImportError as error:
            raise EmbeddingError(
                f"embedding.provider is sentence-transformers, and {error.name or 'its package'} cannot be imported: "
                "run `pip install '.[st]'` where xkg was cloned"
            ) from error
        disable_progress_bar()  # what a command prints is its answer
        torch.set_num_threads(threads)
        source = weights or find_weights(model) or model
        try:
            self._encoder: Any = SentenceTransformer(str(source), trust_remote_code=False)
        except Exception as error:  # each library below raises its own tree
            reason = " ".join(str(error).split())[:200]
            raise EmbeddingError(
                f"{source} cannot be loaded by sentence-transformers ({reason}): check embedding.model, or set "
                "embedding.weights to a folder"
            ) from error
        dimension = self._encoder.get_embedding_dimension()
        if dimension is None:
            raise EmbeddingError(f"{source} gives no vectors of one length: choose another embedding.model")
        self.model = model
        self.dimension = int(dimension)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), np.float32)
        try:
            vectors = self._encoder.encode(
                [encodable(text[:READ_CHARACTERS]) for text in texts],
                batch_size=_BATCH,
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )
        except RuntimeError as error:  # torch's own, for instance for want of a GPU's memory
            reason = " ".join(str(error).split())[:200]
            raise EmbeddingError(f"{self.model} cannot embed ({reason}): set embedding.provider onnx") from error
        result: NDArray[np.float32] = np.asarray(vectors, np.float32)
        return result
