"""No text is embedded twice: vectors kept in SQLite, shared by processes, in front of any `Embedder`."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from xkg.embed import MINILM, Embedder
from xkg.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

_CHUNK = 500
_SCHEMA = """CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, crc32 INTEGER NOT NULL, PRIMARY KEY (model, text))"""
_T = TypeVar("_T")


class CachedEmbedder:
    """An `Embedder` that asks `make` for the real one only when a text is not in the cache file at `path`.

    The key is the model's name and the sha256 of the text; each vector has a checksum. A miss is stored as soon as its
    chunk is embedded, so a killed run repeats little. The cache never fails the work: a corrupt file is set aside
    (`<name>.corrupt-<time>`) and begun anew, one that cannot be written is read only, and without any the vectors are
    remembered in memory; each is warned of once. Safe to call from several threads, and from processes side by side.

    Raises `EmbeddingError` when `make` does, or when it gives another model than `model`.
    """

    def __init__(self, make: Callable[[], Embedder], path: Path, model: str = MINILM) -> None:
        self.model = model
        self._make = make
        self._path = path
        self._embedder: Embedder | None = None
        self._lock = threading.RLock()
        self._warned: set[str] = set()
        self._connection = self._open()

    @property
    def dimension(self) -> int:
        with self._lock:
            if self._embedder is None:
                query = "SELECT length(vector) / 4 FROM vectors WHERE model = ? LIMIT 1"
                rows = self._tried("read", lambda db: db.execute(query, (self.model,)).fetchall()) or []
                if rows:
                    return int(rows[0][0])
            return self._loaded().dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        with self._lock:
            dimension = self.dimension
            found: dict[bytes, NDArray[np.float32]] = {}
            for chunk in _chunks(list(wanted)):
                found |= self._read(chunk, dimension)
            missing = [key for key in wanted if key not in found]
            if missing and self._loaded().dimension != dimension:
                # The name stands for another model now: what is stored under it cannot be compared with it.
                self._warn("model", f"embedding cache {self._path}: vectors of another {self.model} are dropped")
                self._tried("write", lambda db: db.execute("DELETE FROM vectors WHERE model = ?", (self.model,)))
                dimension, found, missing = self._loaded().dimension, {}, list(wanted)
            for chunk in _chunks(missing):
                vectors = self._loaded().embed([wanted[key] for key in chunk])
                fresh = dict(zip(chunk, vectors, strict=True))
                self._write(fresh)
                found |= fresh
        result = np.empty((len(texts), dimension), np.float32)
        for row, key in enumerate(keys):
            result[row] = found[key]
        return result

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def __enter__(self) -> CachedEmbedder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _loaded(self) -> Embedder:
        if self._embedder is None:
            embedder = self._make()
            if embedder.model != self.model:
                raise EmbeddingError(
                    f"the embedder is {embedder.model}, not {self.model}: set embedding.model to match"
                )
            self._embedder = embedder
        return self._embedder

    def _read(self, keys: Sequence[bytes], dimension: int) -> dict[bytes, NDArray[np.float32]]:
        import numpy as np

        query = f"SELECT text, vector, crc32 FROM vectors WHERE model = ? AND text IN ({','.join('?' * len(keys))})"
        rows = self._tried("read", lambda db: db.execute(query, (self.model, *keys)).fetchall()) or []
        return {
            key: np.frombuffer(vector, "<f4")
            for key, vector, crc32 in rows
            if len(vector) == 4 * dimension and zlib.crc32(vector) == crc32
        }

    def _write(self, vectors: dict[bytes, NDArray[np.float32]]) -> None:
        blobs = [(key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        rows = [(self.model, key, blob, zlib.crc32(blob)) for key, blob in blobs]

        def insert(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)

        self._tried("write", insert)

    def _tried(self, what: str, operation: Callable[[sqlite3.Connection], _T]) -> _T | None:
        """What the operation gives, or None where the file does not let it."""
        try:
            return operation(self._connection)
        except sqlite3.OperationalError as error:  # full, read-only, locked for long
            self._warn(what, f"embedding cache {self._path}: cannot {what} ({error}); texts may be embedded again")
            return None
        except sqlite3.DatabaseError as error:
            self._connection.close()
            self._connection = self._reopened(error)
            return None

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return _connect(self._path)
        except (sqlite3.OperationalError, OSError) as error:
            return self._read_only(error)
        except sqlite3.DatabaseError as error:
            return self._reopened(error)

    def _read_only(self, error: Exception) -> sqlite3.Connection:
        try:
            # Without write access SQLite can open a WAL file only when it is told that nobody changes it.
            connection = sqlite3.connect(
                f"{self._path.resolve().as_uri()}?immutable=1", uri=True, check_same_thread=False
            )
            connection.execute("SELECT 1 FROM vectors LIMIT 1")
            self._warn("write", f"embedding cache {self._path}: read-only ({error}); new vectors are not kept")
        except (sqlite3.Error, OSError):
            self._warn("open", f"embedding cache {self._path}: cannot be opened ({error}); vectors are not kept")
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            connection.execute(_SCHEMA)
        return connection

    def _reopened(self, error: Exception) -> sqlite3.Connection:
        """A sound file in place of a corrupt one: another process may have put it there already."""
        try:
            with closing(_connect(self._path)) as connection:
                sound = connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        except sqlite3.DatabaseError:
            sound = False
        try:
            if not sound:
                aside = self._path.with_name(f"{self._path.name}.corrupt-{time.time_ns()}")
                self._path.replace(aside)
                for end in ("-wal", "-shm"):
                    self._path.with_name(self._path.name + end).unlink(missing_ok=True)
                log.warning("embedding cache %s: corrupt (%s), set aside as %s", self._path, error, aside.name)
            return _connect(self._path)
        except (sqlite3.Error, OSError) as again:
            return self._read_only(again)

    def _warn(self, what: str, message: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            log.warning(message)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30, check_same_thread=False)
    try:
        for attempt in range(100):
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                # SQLite does not wait its time-out for this one statement.
                if "locked" not in str(error) or attempt == 99:
                    raise
                time.sleep(0.05)
        connection.execute("PRAGMA synchronous = NORMAL")
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'vectors'").fetchone():
            with connection:
                connection.execute(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _chunks(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK))
