"""Manages the generations in a folder: opens the current generation once for all readers, and publishes the next."""

import contextlib
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from xkg.errors import CorruptStoreError, ModelMismatchError, StoreError
from xkg.files import private_folder, writing
from xkg.store.bundles import BundleFile
from xkg.store.change_feed import Position
from xkg.store.indexes.vectors import VectorsInfo
from xkg.store.local import generation
from xkg.store.local.generation import REBUILD, RETAINED, Current, Generation, Manifest
from xkg.store.local.snapshot import EmbeddedSnapshot


@dataclass(frozen=True)
class Built:
    """A description of built files for the manifest. `model` is empty if nothing was embedded. `changed` has the same
    meaning as in `Manifest`."""

    model: str
    dimension: int
    vectors: VectorsInfo | None
    counts: dict[str, int]
    changed: int = 0


class Generations:
    """Reads and publishes the generations in `folder`, which is created by the first write.

    `check` is called before anything is read from a generation, and raises an error if the generation must not be used.
    A writer waits up to `wait` seconds for another writer. `retained` earlier generations are kept. If `durable` is not
    set, a power failure may damage files, but their hashes reveal the damage. Thread-safe, and safe to use in forked
    processes. Requires a file system with `flock`."""

    def __init__(
        self,
        folder: Path,
        *,
        wait: float,
        check: Callable[[Generation], None],
        retained: int = RETAINED,
        durable: bool = True,
    ) -> None:
        self.folder = folder
        self.bundles = folder / "bundles"
        self._wait = wait
        self._check = check
        self._retained = retained
        self._durable = durable
        self._turn = threading.RLock()
        self._shared: _Shared | None = None
        self._process = os.getpid()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[EmbeddedSnapshot]:
        """Yields the current generation, or an empty one (number 0) if nothing has been published yet. Snapshots of the
        same generation share their open files. Raises `CorruptStoreError` if the generation is damaged, and anything
        that `check` raises."""
        shared = self._acquire()
        try:
            yield shared.snapshot
        finally:
            self._release(shared)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Generation | None]:
        """Locks the current generation until the context ends, and yields it without reading its files."""
        opened = generation.open_current(self.folder)
        try:
            yield opened
        finally:
            if opened is not None:
                opened.close()

    @contextlib.contextmanager
    def writing(self, repair: list[str] | None = None, wait: float | None = None) -> Iterator[Current]:
        """Holds the write lock for one change, and converts system errors to a one-line `StoreError`. If `repair` is
        given, an unreadable `CURRENT` is treated as an empty graph, and a note is added to `repair`. Raises
        `StoreBusyError` if another writer holds the lock for longer than `wait` seconds."""
        with one_line(self.folder):
            if self.folder.exists() and not self.folder.is_dir():
                raise StoreError(f"{self.folder} is a file, not a folder; choose another folder with --kg")
            private_folder(self.folder)
            with writing(self.folder, self._wait if wait is None else wait):
                try:
                    current = generation.read_current(self.folder)
                except CorruptStoreError as error:
                    if repair is None:
                        raise
                    repair.append(str(error).partition(": ")[0])
                    current = Current(highest=max(generation.numbers(self.folder), default=0))
                else:
                    if not (self.folder / "CURRENT").exists():
                        # From here on, a missing CURRENT means that the file was lost.
                        generation.switch(self.folder, current)
                self.bundles.mkdir(exist_ok=True)
                (self.folder / "generations").mkdir(exist_ok=True)
                try:
                    yield current
                finally:
                    # The generation opened by this process is no longer current.
                    self.close()
                    # Also clean up after a failure, because the disk may be full.
                    with contextlib.suppress(OSError, StoreError):
                        generation.clean_up(self.folder, self._retained)

    def publish(
        self,
        current: Current,
        fill: Callable[[Path], Built],
        known: Mapping[str, BundleFile],
        decided: str,
        position: Position | None = None,
        earlier: Generation | None = None,
        measured: str = "",
    ) -> int:
        """Publishes the files that `fill` writes to an empty folder as the next generation, and returns its number. The
        files may be links to files in `earlier`. Must be called inside `writing`."""
        number = max(current.highest, *generation.numbers(self.folder), 0) + 1
        building = generation.building_folder(self.folder, number)
        try:
            built = fill(building)
            manifest = Manifest(
                number=number,
                previous=current.generation,
                previous_sha256=current.manifest_sha256,
                files=generation.stamp(building, earlier, durable=self._durable),
                bundles=dict(sorted(known.items())),
                decisions=decided,
                ablations=measured,
                position=position,
                **vars(built),
            )
            generation.commit(self.folder, building, manifest, current.highest)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        return number

    def close(self) -> None:
        """Closes the open generation, which can be opened again."""
        with self._turn:
            shared, self._shared = self._shared, None
            if shared is not None:
                shared.stale = True
                if shared.users == 0:
                    shared.snapshot.close()

    def _acquire(self) -> "_Shared":
        with self._turn:
            if self._process != os.getpid():
                # After a fork, the open objects still belong to the parent process.
                self._process, self._shared = os.getpid(), None
            current = generation.read_current(self.folder)
            if self._shared is None or self._shared.current != current:
                opened = generation.open_current(self.folder)
                try:
                    if opened is not None:
                        self._check(opened)
                    snapshot = EmbeddedSnapshot(self.folder, opened)
                except BaseException:
                    if opened is not None:
                        opened.close()
                    raise
                self.close()
                self._shared = _Shared(current, snapshot)
            else:
                self._shared.snapshot.verify_again()
            self._shared.users += 1
            return self._shared

    def _release(self, shared: "_Shared") -> None:
        with self._turn:
            shared.users -= 1
            if shared.stale and shared.users == 0:
                shared.snapshot.close()


class _Shared:
    """An open snapshot and its number of users. A stale snapshot is closed by its last user."""

    def __init__(self, current: Current, snapshot: EmbeddedSnapshot) -> None:
        self.current = current
        self.snapshot = snapshot
        self.users = 0
        self.stale = False


def require_model(stored: str, configured: str | None) -> None:
    """Raises `ModelMismatchError` if indexes were built with an embedding model other than the configured one. Either
    may be unknown."""
    if stored and configured is not None and stored != configured:
        raise ModelMismatchError(
            f"the indexes were built with embedding model {stored!r}, but {configured!r} is configured; set {stored!r} "
            f"again, or {REBUILD} to embed everything again"
        )


@contextlib.contextmanager
def one_line(folder: Path) -> Iterator[None]:
    """Converts system errors to a one-line `StoreError`."""
    try:
        yield
    except (OSError, sqlite3.Error, RuntimeError, MemoryError) as error:
        raise StoreError(
            f"{folder} cannot be written ({_reason(error)}): nothing was changed; free up space or fix the "
            "permissions, then try again"
        ) from error


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = (str(error).splitlines() or [""])[0]
    # When the engine reads a file back, it detects a write that was truncated by a full disk.
    return "I/O error, the disk may be full" if "IO exception" in text else text or type(error).__name__
