"""Embedding models shared by a server's graphs."""

import threading

from xkg.config import EmbeddingSettings
from xkg.embeddings.base import Embedder


class Models:
    """Embedding models, loaded on first use. Thread-safe."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._turn = threading.Lock()
        self._loaded: dict[bool, Embedder] = {}

    def texts(self) -> Embedder:
        """Returns the model for texts in the graph."""
        return self._model(queries=False)

    def queries(self) -> Embedder:
        """Returns the model for queries, which is a faster variant of the same model if there is one."""
        return self._model(queries=self._settings.provider == "onnx")

    def _model(self, *, queries: bool) -> Embedder:
        with self._turn:
            if queries not in self._loaded:
                from xkg.embeddings.factory import make_embedder

                self._loaded[queries] = make_embedder(self._settings, queries=queries)
            return self._loaded[queries]
