"""Vectors of queries, kept in memory: agents ask again what they or others asked."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from xkg.embed import Embedder

KEPT = 1024
"""Vectors of so many texts, 1.5 KB each; those that were asked for least lately go first."""


class QueryVectors:
    """What the model that `embedder` gives makes of texts, from memory where they were asked for lately. Safe to use
    from several threads, of which none waits for another's texts."""

    def __init__(self, embedder: "Callable[[], Embedder]", kept: int = KEPT) -> None:
        self._embedder = embedder
        self._most = kept
        self._turn = threading.Lock()
        self._kept: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def __call__(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """A row of unit length for each text; the new ones go through the model together. Raises what it raises."""
        import numpy as np

        wanted = dict.fromkeys(texts)
        with self._turn:
            known = {text: self._kept[text] for text in wanted if text in self._kept}
        missing = [text for text in wanted if text not in known]
        if missing:
            # Rows of their own: a view would keep the whole of what was embedded together.
            known.update((text, row.copy()) for text, row in zip(missing, self._embedder().embed(missing), strict=True))
        with self._turn:
            for text in wanted:
                self._kept[text] = known[text]
                self._kept.move_to_end(text)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return np.stack([known[text] for text in texts])
