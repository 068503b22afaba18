"""What a model makes of queries: kept in memory, since agents ask again what they or others asked, and what is asked
for at the same time made together, since the model reads its weights once for all of them.

Whoever finds the model at rest goes through it at once and alone; who comes while it runs waits for the next run, with
all who came meanwhile.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cachetools import LRUCache

from xkg.embeddings.base import EncodedText, encode

if TYPE_CHECKING:
    from xkg.embeddings.base import Embedder

KEPT = 1024
"""Readings of so many texts, about 2.5 KB each; those that were asked for least lately go first."""


@runtime_checkable
class Together(Protocol):
    """An embedder that is quicker with several short texts at once, at the cost of the last bits."""

    def encode_together(self, texts: Sequence[str]) -> Sequence[EncodedText]: ...


class QueryReadings:
    """What the model that `embedder` gives makes of texts, from memory where they were asked for lately, to about 1e-7.
    Safe to use from several threads."""

    def __init__(self, embedder: "Callable[[], Embedder]", kept: int = KEPT) -> None:
        self._embedder = embedder
        self._readings: LRUCache[str, EncodedText] = LRUCache(kept)
        self._turn = threading.Lock()
        self._running = threading.Lock()
        self._next: _Run | None = None

    def __call__(self, texts: Sequence[str]) -> list[EncodedText]:
        """A reading of each text. Raises what the model raises."""
        wanted = dict.fromkeys(texts)
        with self._turn:
            known = {text: self._readings[text] for text in wanted if text in self._readings}
        missing = [text for text in wanted if text not in known]
        if missing:
            made = self._made(missing)
            with self._turn:
                self._readings.update({text: made[text] for text in missing})
            known.update(made)
        return [known[text] for text in texts]

    def _made(self, texts: Sequence[str]) -> dict[str, EncodedText]:
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
                    run.done.set_result(self._through(list(run.texts)))
                except BaseException as error:
                    run.done.set_exception(error)
        try:
            return run.done.result()
        except Exception:
            if run.callers == 1:
                raise
            return self._through(texts)  # what another's text broke

    def _through(self, texts: Sequence[str]) -> dict[str, EncodedText]:
        model = self._embedder()
        readings = model.encode_together(texts) if isinstance(model, Together) else encode(model, texts)
        return dict(zip(texts, readings, strict=True))


class _Run:
    """The texts of one run of the model, and what comes of them."""

    def __init__(self) -> None:
        self.texts: dict[str, None] = {}
        self.callers = 0
        self.done: Future[dict[str, EncodedText]] = Future()
