"""What other machines built of a list into the same Neo4j, so that they divide it."""

from contextlib import AbstractContextManager, ExitStack, closing, suppress
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from xkg.commands.batch.paper_list import ListedPaper
from xkg.commands.batch.records import Row, shared_inputs
from xkg.commands.graph.open import embedder
from xkg.config import Settings
from xkg.errors import StoreError

_NOTE = "another machine built it"


class SharedRecords(AbstractContextManager["SharedRecords"]):
    """The rows of papers that were built whole into the Neo4j of the settings, by whichever machine; none for a graph
    that is a folder, and for papers of this machine's own files, which another's need not be. Of a server that is away
    nothing is known: the paper is built. Safe to use from several threads."""

    def __init__(self, settings: Settings, blacklist: Path | None, *, first: bool) -> None:
        self._settings = settings
        self._deciding = (settings, blacklist, first)
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        if self._settings.store.url is not None:
            from xkg.store.neo4j.store import Neo4jStore

            store = Neo4jStore(self._settings, lambda: embedder(self._settings), connect=False)
            self._connection = self._opened.enter_context(closing(store)).connection
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def of(self, listed: ListedPaper) -> Row | None:
        """The row of a paper that another machine has built of the same inputs, and that the graph has."""
        from xkg.store.neo4j import batch_rows

        digest = self._digest(listed)
        with suppress(StoreError, ValidationError):
            text = batch_rows.row_of(self._connection, digest) if digest else None
            if text is not None:
                row = Row.model_validate_json(text)
                update = {"line": listed.line, "state": "unchanged", "seconds": 0.0, "notes": (_NOTE,)}
                return row.model_copy(update=update)
        return None

    def enter(self, listed: ListedPaper, row: Row) -> None:
        from xkg.store.neo4j import batch_rows

        digest = self._digest(listed)
        if digest and row.paper is not None and row.state in ("built", "unchanged"):
            with suppress(StoreError):
                batch_rows.enter(self._connection, digest, row.paper, row.model_dump_json())

    def _digest(self, listed: ListedPaper) -> str | None:
        return None if self._settings.store.url is None else shared_inputs(listed, *self._deciding)
