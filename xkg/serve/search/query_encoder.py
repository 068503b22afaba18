"""Encodes queries, with a least-recently-used cache and request coalescing.

Agents repeat queries, and the model reads its weights once per batch. A caller who finds the model idle runs it at
once. Callers who come while it runs wait for the next run, which encodes the texts of all of them."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from cachetools import LRUCache

from xkg.embeddings.base import Embedder, EncodedText, encode

CACHED_TEXTS = 1024
"""Maximum number of cached texts, about 2.5 KB each."""


class QueryEncoder:
    """Encodes texts with the model that `embedder` returns. Thread-safe."""

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        self._embedder = embedder
        self._cache: LRUCache[str, EncodedText] = LRUCache(CACHED_TEXTS)
        self._turn = threading.Lock()
        self._running = threading.Lock()
        self._next: _Run | None = None

    def __call__(self, texts: Sequence[str]) -> list[EncodedText]:
        """Raises any error of the model."""
        wanted = dict.fromkeys(texts)
        with self._turn:
            known = {text: self._cache[text] for text in wanted if text in self._cache}
        missing = [text for text in wanted if text not in known]
        if missing:
            encoded = self._coalesced(missing)
            with self._turn:
                self._cache.update({text: encoded[text] for text in missing})
            known.update(encoded)
        return [known[text] for text in texts]

    def _coalesced(self, texts: Sequence[str]) -> dict[str, EncodedText]:
        with self._turn:
            first = self._next is None
            run = self._next = self._next or _Run()
            run.callers += 1
            run.texts.update(dict.fromkeys(texts))
        if first:
            with self._running:
                with self._turn:
                    self._next = None
                try:
                    run.done.set_result(self._run(list(run.texts)))
                except BaseException as error:
                    run.done.set_exception(error)
        try:
            return run.done.result()
        except Exception:
            if run.callers == 1:
                raise
            return self._run(texts)  # the text of another caller may have caused the failure

    def _run(self, texts: Sequence[str]) -> dict[str, EncodedText]:
        return dict(zip(texts, encode(self._embedder(), texts), strict=True))


class _Run:
    """The texts of one run of the model, and their encodings."""

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}
        self.callers = 0
        self.done: Future[dict[str, EncodedText]] = Future()
