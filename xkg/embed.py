"""Text to unit vectors. The `Embedder` protocol; the default runtime is ONNX over all-MiniLM-L6-v2."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Embedder(Protocol):
    """`embed` gives float32 of shape (len(texts), dimension), each row of unit length, row i for texts[i].
    `model` names the vectors: equal names mean comparable vectors. Raises `EmbeddingError`."""

    model: str
    dimension: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...
