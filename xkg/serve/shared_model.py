"""A server's embedding model, loaded on first use and shared by its graphs."""

import threading

from xkg.config import EmbeddingSettings
from xkg.embeddings.base import Embedder


class SharedModel:
    """Returns the model when called. The first call loads the model. Thread-safe."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._turn = threading.Lock()
        self._loaded: Embedder | None = None

    def __call__(self) -> Embedder:
        with self._turn:
            if self._loaded is None:
                from xkg.embeddings.factory import make_embedder

                self._loaded = make_embedder(self._settings)
            return self._loaded
