"""Caches vectors and word codes in front of an `Embedder`, in an SQLite file shared by processes."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from xkg.embeddings.base import MINILM, Embedder, EncodedDocuments, WordEncoder, encode_documents
from xkg.errors import EmbeddingError
from xkg.files import private_folder
from xkg.sqlite_files import open_wal, set_aside, transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

_CHUNK = 500
_SCHEMA = {
    "texts": "CREATE TABLE IF NOT EXISTS texts (model TEXT NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, "
    "codes BLOB, crc32 INTEGER NOT NULL, PRIMARY KEY (model, text))"
}
"""The codes are null if only the vector of a text was needed."""
_SPARED = 0.1
"""Fraction of the limit that is freed at a time, so that not every new text triggers a search for the oldest texts."""
_T = TypeVar("_T")


class CachedEmbedder:
    """An `Embedder` with a cache file at `path`. `make` is called to create the real embedder only when a text is not
    in the cache.

    The key is the model's name and the SHA-256 of the text, and each vector has a checksum. Misses are stored after
    each chunk, so little work is lost if a run is killed. If `most` is set, the cache keeps only the last `most`
    texts.

    Problems with the file never cause a failure. A damaged file is renamed to `<name>.corrupt-<time>` and replaced. A
    read-only file is used but not updated. If the file cannot be opened, vectors are cached in memory. Each of these
    problems is logged as one warning.

    Safe to use from several threads and processes: a hit never waits for another thread's miss, and a miss waits for at
    most one chunk. Raises `EmbeddingError` if `make` does, or if `make` returns a model other than `model`."""

    def __init__(
        self, make: Callable[[], Embedder], path: Path, model: str = MINILM, *, most: int | None = None
    ) -> None:
        self.model = model
        self._most = most
        self._make = make
        self._path = path
        self._embedder: Embedder | None = None
        self._lock = threading.RLock()  # held while a statement uses the connection
        self._embedding = threading.RLock()  # held while the model embeds a chunk
        self._warned: set[str] = set()
        self._connection = self._open()

    @property
    def dimension(self) -> int:
        if self._embedder is None:
            query = "SELECT length(vector) / 4 FROM texts WHERE model = ? LIMIT 1"
            rows = self._try("read", partial(_rows_of, query, (self.model,))) or []
            if rows:
                return int(rows[0][0])
        return self._loaded().dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._encoded(texts, words=False).vectors

    def encode_documents(self, texts: Sequence[str]) -> EncodedDocuments:
        """Like `embed`, but also returns the word codes if the model provides them."""
        return self._encoded(texts, words=True)

    def _encoded(self, texts: Sequence[str], *, words: bool) -> EncodedDocuments:
        import numpy as np

        keys, wanted = _keyed(texts)
        dimension = self.dimension
        known = self._read(list(wanted), dimension, words=words)
        missing = [key for key in wanted if key not in known]
        if missing and words and not isinstance(self._loaded(), WordEncoder):
            return self._encoded(texts, words=False)
        if missing and self._loaded().dimension != dimension:
            dimension, known, missing = self._drop_vectors(), {}, list(wanted)
        for chunk in _chunks(missing):
            with self._embedding:
                known |= self._read(chunk, dimension, words=words)  # another thread may have embedded the texts by now
                absent = [key for key in chunk if key not in known]
                if absent:
                    chosen, model = [wanted[key] for key in absent], self._loaded()
                    fresh = encode_documents(model, chosen) if words else _without_words(model.embed(chosen))
                    self._store(absent, fresh.vectors, fresh.codes if words else [None] * len(absent))
                    known |= zip(absent, zip(*fresh, strict=True), strict=True)
        if missing and self._most is not None:
            self._drop_oldest(self._most)
        vectors = np.empty((len(keys), dimension), np.float32)
        for row, key in enumerate(keys):
            vectors[row] = known[key][0]
        return EncodedDocuments(vectors, [known[key][1] for key in keys])

    def put(self, texts: Sequence[str], encoded: EncodedDocuments) -> None:
        """Stores the entries for these texts from another cache for the same model. Existing entries are not
        replaced."""
        self._store(_keyed(texts)[0], encoded.vectors, encoded.codes, "IGNORE")

    def _drop_vectors(self) -> int:
        """Deletes vectors from an earlier model with the same name, and returns the current model's dimension."""
        self._warn("model", f"embedding cache {self._path}: dropping vectors from a different {self.model}")
        self._try("write", methodcaller("execute", "DELETE FROM texts WHERE model = ?", (self.model,)))
        return self._loaded().dimension

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def __enter__(self) -> CachedEmbedder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _loaded(self) -> Embedder:
        if self._embedder is not None:
            return self._embedder
        with self._embedding:
            if self._embedder is None:
                embedder = self._make()
                if embedder.model != self.model:
                    raise EmbeddingError(
                        f"the embedder is {embedder.model}, not {self.model}; set embedding.model to match"
                    )
                self._embedder = embedder
            return self._embedder

    def _read(
        self, keys: Sequence[bytes], dimension: int, *, words: bool
    ) -> dict[bytes, tuple[NDArray[np.float32], bytes]]:
        """Returns the stored vectors and codes for these texts. Texts without a vector or codes are omitted. If `words`
        is false, only the vector is required, and the codes are empty."""
        import numpy as np

        known = {}
        for chunk in _chunks(keys):
            places = ",".join("?" * len(chunk))
            query = f"SELECT text, vector, codes, crc32 FROM texts WHERE model = ? AND text IN ({places})"
            for key, vector, codes, crc32 in self._try("read", partial(_rows_of, query, (self.model, *chunk))) or []:
                sound = _checksum(vector, codes) == crc32 and len(vector) == 4 * dimension
                if sound and not (words and codes is None):
                    known[key] = np.frombuffer(vector, "<f4"), codes if words else b""
        return known

    def _store(
        self,
        keys: Sequence[bytes],
        vectors: NDArray[np.float32],
        codes: Sequence[bytes | None],
        present: Literal["REPLACE", "IGNORE"] = "REPLACE",
    ) -> None:
        blobs = zip(keys, (vector.astype("<f4").tobytes() for vector in vectors), codes, strict=True)
        rows = [(self.model, key, vector, own, _checksum(vector, own)) for key, vector, own in blobs]

        def insert(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.executemany(f"INSERT OR {present} INTO texts VALUES (?, ?, ?, ?, ?)", rows)

        self._try("write", insert)

    def _drop_oldest(self, most: int) -> None:
        """Deletes the oldest texts if more than `most` are stored."""

        def drop(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                count = connection.execute("SELECT count(*) FROM texts").fetchone()[0]
                if count > most:
                    oldest = "SELECT rowid FROM texts ORDER BY rowid LIMIT ?"
                    spared = count - most + int(_SPARED * most)
                    connection.execute(f"DELETE FROM texts WHERE rowid IN ({oldest})", (spared,))

        self._try("write", drop)

    def _try(self, what: str, operation: Callable[[sqlite3.Connection], _T]) -> _T | None:
        """Returns the operation's result, or None if the file is unusable."""
        with self._lock:
            try:
                return operation(self._connection)
            except sqlite3.OperationalError as error:  # disk full, read-only, or locked for too long
                self._warn(what, f"embedding cache {self._path}: cannot {what} ({error}); texts may be embedded again")
            except sqlite3.ProgrammingError as error:
                if "closed" not in str(error):
                    raise  # if the cache is closed, in-flight calls continue without it
            except sqlite3.DatabaseError as error:
                self._connection.close()
                self._connection = self._replaced(error)
            return None

    def _open(self) -> sqlite3.Connection:
        try:
            private_folder(self._path.parent)
            return open_wal(self._path, _SCHEMA, "NORMAL")
        except (sqlite3.OperationalError, OSError) as error:
            return self._read_only(error)
        except sqlite3.DatabaseError as error:
            return self._replaced(error)

    def _replaced(self, error: Exception) -> sqlite3.Connection:
        """Replaces a damaged file unless another process has already replaced it."""
        try:
            with set_aside(self._path, _SCHEMA, "NORMAL") as (connection, aside):
                if aside is not None:
                    log.warning("embedding cache %s: corrupt (%s), set aside as %s", self._path, error, aside.name)
                return connection
        except (sqlite3.Error, OSError) as again:
            return self._read_only(again)

    def _read_only(self, error: Exception) -> sqlite3.Connection:
        """Opens the file read-only. If that fails, opens an empty database in memory."""
        try:
            # Without write access, SQLite can open a WAL file only as immutable.
            address = f"{self._path.resolve().as_uri()}?immutable=1"
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
            connection.execute("SELECT 1 FROM texts LIMIT 1")
            self._warn("write", f"embedding cache {self._path}: read-only ({error}); new vectors are not saved")
        except (sqlite3.Error, OSError):
            self._warn("open", f"embedding cache {self._path}: cannot be opened ({error}); vectors are not saved")
            connection = sqlite3.connect(":memory:", check_same_thread=False)
            for statement in _SCHEMA.values():
                connection.execute(statement)
        return connection

    def _warn(self, what: str, message: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            log.warning(message)


def _rows_of(query: str, values: Sequence[object], connection: sqlite3.Connection) -> list[Any]:
    return connection.execute(query, values).fetchall()


def _keyed(texts: Sequence[str]) -> tuple[list[bytes], dict[bytes, str]]:
    keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
    return keys, dict(zip(keys, texts, strict=True))


def _without_words(vectors: NDArray[np.float32]) -> EncodedDocuments:
    return EncodedDocuments(vectors, [b""] * len(vectors))


def _checksum(vector: bytes, codes: bytes | None) -> int:
    return zlib.crc32(codes or b"", zlib.crc32(vector))


def _chunks(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK))
