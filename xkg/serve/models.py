"""The embedding models of a server, loaded on first use. Its graphs share them."""

import threading

from xkg.config import EmbeddingSettings
from xkg.embeddings.base import Embedder


class Models:
    """Thread-safe."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._turn = threading.Lock()
        self._loaded: dict[bool, Embedder] = {}

    def texts(self) -> Embedder:
        """The model for texts of the graph."""
        return self._model(queries=False)

    def queries(self) -> Embedder:
        """The model for queries, which is a faster form of the same if there is one."""
        return self._model(queries=self._settings.provider == "onnx")

    def _model(self, *, queries: bool) -> Embedder:
        with self._turn:
            if queries not in self._loaded:
                from xkg.embeddings.factory import make_embedder

                self._loaded[queries] = make_embedder(self._settings, queries=queries)
            return self._loaded[queries]
