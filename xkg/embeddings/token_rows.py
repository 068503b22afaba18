"""Reads a model's token vectors from its file on demand.

Token vectors are half of a model's weights (47 of MiniLM's 90 MB), but a text needs only one row per token. With memory
mapping, each row would load the 64 KB around it, and after a few hundred texts, all rows would be in memory."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from xkg.errors import EmbeddingError

if TYPE_CHECKING:
    from pathlib import Path


class TokenRows:
    """The rows of a matrix of 32-bit floats that starts at byte `start` of a file. Safe to use from several threads.
    Raises `OSError` if the file cannot be opened."""

    def __init__(self, path: Path, start: int, count: int, width: int) -> None:
        self._path, self._start, self._count, self._width = path, start, count, width
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self._descriptor)
        self._turn = threading.Lock()

    def read(self, numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows with these numbers, of shape (*numbers.shape, width). Raises `EmbeddingError`."""
        wanted = numbers.ravel().tolist()
        if wanted and not 0 <= min(wanted) <= max(wanted) < self._count:
            raise EmbeddingError(
                f"{self._path} has {self._count} tokens, fewer than its tokenizer: fetch the model again"
            )
        size = 4 * self._width
        try:
            read = b"".join([self._at(self._start + size * number, size) for number in wanted])
        except OSError as error:
            raise EmbeddingError(f"{self._path} cannot be read ({error.strerror}): fetch the model again") from error
        if len(read) != size * len(wanted):
            raise EmbeddingError(f"{self._path} is truncated: fetch the model again")
        rows: NDArray[np.float32] = np.frombuffer(read, "<f4").reshape(*numbers.shape, self._width)
        return rows

    def _at(self, place: int, size: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(self._descriptor, size, place)
        with self._turn:  # Windows
            os.lseek(self._descriptor, place, os.SEEK_SET)
            return os.read(self._descriptor, size)
