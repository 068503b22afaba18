"""Encodes queries. Encodes queries. Recently encoded queries are cached, because agents often repeat them.

Only one call runs the model at a time. Batching waiting queries would save only a tenth of the 1.2 ms per query."""

import threading
from collections.abc import Callable, Sequence

from cachetools import LRUCache

from xkg.config import EmbeddingSettings
from xkg.embeddings.base import Embedder, EncodedText, encode

CACHED_TEXTS = 1024
"""Maximum number of cached texts. Each text takes about 2.5 KB."""


class QueryEncoder:
    """Encodes texts with the model that `embedder` returns. Thread-safe."""

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self._embedder = embedder
        self._cache: LRUCache[str, EncodedText] = LRUCache(CACHED_TEXTS)
        self._turn = threading.Lock()

    def __call__(self, texts: Sequence[str]) -> list[EncodedText]:
        """Encodes the texts. Raises any error from the model."""
        with self._turn:
            known = {text: self._cache[text] for text in texts if text in self._cache}
            missing = [text for text in dict.fromkeys(texts) if text not in known]
            if missing:
                known.update(zip(missing, encode(self._embedder(), missing), strict=True))
                self._cache.update(known)
            return [known[text] for text in texts]


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
