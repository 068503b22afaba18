"""SQLite files shared by several processes. Files are opened in WAL mode, and replaced if they are damaged."""

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Literal

from xkg.errors import CorruptStoreError, StoreError
from xkg.files import file_lock, private_file, private_folder, sync_folder

Synchronous = Literal["FULL", "NORMAL"]

_BUSY_SECONDS = 30.0


def open_wal(path: Path, schema: Mapping[str, str], synchronous: Synchronous = "FULL") -> sqlite3.Connection:
    """Returns a connection in autocommit mode that any thread may use. Creates the file, and any missing parts of
    `schema`, if needed. `schema` maps table and index names to the statements that create them. Raises `sqlite3.Error`
    and `OSError`."""
    with _file_lock(path, shared=True):  # else a new write-ahead log could be moved away with a damaged file
        return _connect(path, schema, synchronous)


@contextmanager
def opened(path: Path, schema: Mapping[str, str], remedy: str) -> Iterator[sqlite3.Connection]:
    """Context manager that calls `open_wal` in a private folder. Converts every error inside the context to a
    `StoreError` that suggests a remedy. `remedy` is the suggestion for a damaged file."""
    try:
        private_folder(path.parent)
        with closing(open_wal(path, schema)) as db:
            yield db
    except sqlite3.OperationalError as error:
        raise StoreError(f"{path} cannot be used ({error}); check its permissions and free disk space") from error
    except sqlite3.DatabaseError as error:
        raise CorruptStoreError(f"{path} is damaged ({error}); {remedy}") from error
    except OSError as error:
        raise StoreError(f"cannot create {path.parent} ({error.strerror}); check its permissions") from error


@contextmanager
def set_aside(
    path: Path, schema: Mapping[str, str], synchronous: Synchronous = "FULL"
) -> Iterator[tuple[sqlite3.Connection, Path | None]]:
    """Context manager that moves a damaged file away. Yields a connection to a new file and the damaged file's new path
    (None if another process has already replaced it). No other process opens the file until the context ends. Raises
    the same errors as `open_wal`."""
    with _file_lock(path, shared=False):
        if _is_sound(path, schema, synchronous):
            yield _connect(path, schema, synchronous), None
            return
        aside = path.with_name(f"{path.name}.corrupt-{time.time_ns()}")
        path.replace(aside)
        for end in ("-wal", "-shm"):
            if (part := path.with_name(path.name + end)).exists():
                part.replace(aside.with_name(aside.name + end))
        yield _connect(path, schema, synchronous), aside


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Context manager that runs its statements as one atomic transaction and locks out other writers."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def _file_lock(path: Path, *, shared: bool) -> Iterator[None]:
    """Context manager that locks the file. If the lock file cannot be written, no process can replace the file, so no
    lock is needed."""
    lock = path.with_name(f"{path.name}.lock")
    with ExitStack() as stack:
        with suppress(OSError):
            private_file(lock)
            stack.enter_context(file_lock(lock, shared=shared))
        yield


def _is_sound(path: Path, schema: Mapping[str, str], synchronous: Synchronous) -> bool:
    try:
        with closing(_connect(path, schema, synchronous)) as db:
            return bool(db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False


def _connect(path: Path, schema: Mapping[str, str], synchronous: Synchronous) -> sqlite3.Connection:
    private_file(path)
    db = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        for attempt in range(100):
            try:
                db.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                # SQLite ignores its timeout for this statement.
                if "locked" not in str(error) or attempt == 99:
                    raise
                time.sleep(0.05)
        db.execute(f"PRAGMA synchronous = {synchronous}")
        present = {name for (name,) in db.execute("SELECT name FROM sqlite_master").fetchall()}
        if missing := [statement for name, statement in schema.items() if name not in present]:
            with transaction(db):  # atomic, so that no table can change between the statements
                for statement in missing:
                    db.execute(statement)
            sync_folder(path.parent)
    except BaseException:
        db.close()
        raise
    return db
