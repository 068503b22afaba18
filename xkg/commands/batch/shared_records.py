"""Shares results between machines that build a list into the same Neo4j database, so that they can split the work."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from xkg.commands.batch.paper_list import ListedPaper
from xkg.commands.batch.records import Row, shared_inputs, shared_settings
from xkg.commands.claims import builder_name
from xkg.commands.graph.open import embedder
from xkg.config import Settings
from xkg.errors import LeaseHeldError, StoreError

_NOTE = "another machine built it"


class SharedRecords(AbstractContextManager["SharedRecords"]):
    """Stores the rows of papers that any machine has fully built into the configured Neo4j database. No rows are stored
    if the graph is in a folder, or for papers from local files, which may differ between machines. If the server is
    unreachable, papers are built anyway. This class is thread-safe."""

    def __init__(self, settings: Settings, blacklist: Path | None, *, first: bool) -> None:
        self._settings = settings
        self._decided = shared_settings(settings, blacklist, first=first) if settings.store.url is not None else None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        if self._settings.store.url is not None:
            from xkg.store.neo4j.store import Neo4jStore

            store = Neo4jStore(self._settings, lambda: embedder(self._settings), connect=False)
            self._connection = self._opened.enter_context(closing(store)).connection
            with suppress(StoreError):
                store.require_writable()  # the schema must exist before the first lease
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @contextmanager
    def turn(self, listed: ListedPaper) -> Iterator[Row | None]:
        """Keeps other machines from building the paper until the context manager exits. Yields the paper's row if
        another machine has built it from the same inputs and the graph contains it. Raises `LeaseHeldError` if another
        machine is building the paper."""
        with ExitStack() as held:
            row = self._row_in_turn(listed, held)
            yield None if row is None else _unchanged(row, listed)

    def _row_in_turn(self, listed: ListedPaper, held: ExitStack) -> str | None:
        """Takes a lease on the paper, and returns the paper's stored row. `held` releases the lease."""
        digest = self._digest(listed)
        if digest is None:
            return None
        from xkg.store.neo4j import batch_rows

        try:
            return held.enter_context(batch_rows.turn(self._connection, digest, builder_name()))
        except LeaseHeldError as error:
            raise LeaseHeldError(str(error).replace(f"listed {digest}", listed.paper)) from error
        except StoreError:
            return None  # the build reports the server's error

    def enter(self, listed: ListedPaper, row: Row) -> None:
        """Stores the row of a complete paper while its lease is active."""
        from xkg.store.neo4j import batch_rows

        digest = self._digest(listed)
        if digest and row.paper is not None and row.state in ("built", "unchanged"):
            with suppress(StoreError):
                batch_rows.enter(self._connection, digest, row.paper, row.model_dump_json())

    def _digest(self, listed: ListedPaper) -> str | None:
        return None if self._decided is None else shared_inputs(listed, self._decided)


def _unchanged(text: str, listed: ListedPaper) -> Row | None:
    """Returns the stored row, or None if a different version of xkg wrote it."""
    try:
        row = Row.model_validate_json(text)
    except ValidationError:
        return None
    return row.model_copy(update={"line": listed.line, "state": "unchanged", "seconds": 0.0, "notes": (_NOTE,)})
