"""The search indexes of a Neo4j for one process: made when they are first asked for, filled for papers without entries,
and kept by every writer from then on."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from xkg.embeddings.base import documents
from xkg.errors import StoreError, XkgError
from xkg.model import PaperBundle
from xkg.store.index_entries import entries, vector_text
from xkg.store.neo4j import read
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.search.entries import EntryRow, entry_rows
from xkg.store.neo4j.search.indexes import SearchIndex

if TYPE_CHECKING:
    from xkg.embeddings.base import Embedder


class Search:
    """`index` gives what searches; with `background` it is made beside the answers."""

    def __init__(self, connection: Connection, embedder: "Callable[[], Embedder]", *, background: bool) -> None:
        self._connection = connection
        self._embedder = embedder
        self._background = background
        self._turn = threading.Lock()
        self._ready: SearchIndex | None = None
        self._maker: threading.Thread | None = None
        self._failure: XkgError | None = None

    def entries(self, bundle: PaperBundle) -> list[EntryRow]:
        """The entries of a paper, by the embedding model in force."""
        shown = list(entries(bundle))
        if not shown:
            return []
        return entry_rows(bundle, shown, documents(self._embedder(), [vector_text(entry) for entry in shown]))

    def index(self) -> SearchIndex | None:
        """The indexes, or None while they are being made in the background. Raises `ModelMismatchError`, `StoreError`,
        and what went wrong in the background since the last call."""
        with self._turn:
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            if self._ready is not None or self._making():
                return self._ready
            if self._background:
                self._maker = threading.Thread(target=self._make_beside, name="xkg-search", daemon=True)
                self._maker.start()
                return None
            self._ready = self._make()
            return self._ready

    def rebuild(self) -> None:
        """Makes all entries anew where the graph has such indexes."""
        index = SearchIndex(self._connection)
        if index.stored_model() is not None:
            embedder = self._embedder()
            index.reset(embedder.dimension, embedder.model)
            index.backfill(self._read, embedder)

    def close(self) -> None:
        if self._maker is not None:
            self._maker.join()
            self._maker = None
        self._ready = None

    def _making(self) -> bool:
        return self._maker is not None and self._maker.is_alive()

    def _make_beside(self) -> None:
        try:
            self._ready = self._make()
        except XkgError as error:
            self._failure = error
        except Exception as error:  # a thread has nobody above it
            self._failure = StoreError(f"the search indexes cannot be made ({error}): see `xkg doctor`")

    def _make(self) -> SearchIndex:
        index = SearchIndex(self._connection)
        embedder = self._embedder()
        index.prepare(embedder.dimension, embedder.model)
        index.backfill(self._read, embedder)
        return index

    def _read(self, papers: Sequence[str]) -> Iterator[PaperBundle]:
        return iter(self._connection.read(lambda transaction: list(read.bundles(transaction, papers))))
