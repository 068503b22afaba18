"""Keeps local side indexes up to date for a graph stored elsewhere (`Replica`).

The folder contains the same files as an embedded graph (`xkg.store.local.generation`), except for the graph itself. All
files in the folder are derived. Data that is lost, damaged, or from a different graph or embedding model is rebuilt."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from xkg.embeddings.base import Embedder
from xkg.errors import CorruptStoreError, ModelMismatchError, StoreBusyError, StoreError, XkgError
from xkg.store import bundles
from xkg.store.change_feed import Feed, Position
from xkg.store.concepts import decisions
from xkg.store.local import build_files
from xkg.store.local.generation import Generation
from xkg.store.local.generations import Built, Generations, require_model
from xkg.store.local.snapshot import EmbeddedSnapshot

log = logging.getLogger(__name__)

WAIT_SECONDS = 600.0
"""How long to wait for another process that is updating the copy. Indexing a large graph takes minutes."""
_QUICK_SECONDS = 1.0
"""How long to wait for an update before answering from an earlier state."""


class Replica:
    """A copy of the graph behind `feed` in a separate `folder`, which is shared between processes.

    `embedder` is called when something must be embedded. `model` is the name of the configured embedding model. An
    index built with a different model is rebuilt. If `background` is set, slow work is done in the background.
    Thread-safe. Requires a file system with `flock`."""

    def __init__(
        self,
        folder: Path,
        feed: Feed,
        embedder: Callable[[], Embedder],
        *,
        model: str | None = None,
        background: bool,
    ) -> None:
        self.folder = folder
        self._feed = feed
        self._embedder = embedder
        self._model = model
        self._background = background
        self._generations = Generations(folder, wait=WAIT_SECONDS, check=self._check, retained=0, durable=False)
        self._turn = threading.Lock()
        self._updater: threading.Thread | None = None
        self._failure: XkgError | None = None
        self._damaged = False
        self._closing = threading.Event()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[EmbeddedSnapshot]:
        """Yields the current graph. While the copy is being updated in the background, this is an earlier state, for
        which `current` is False.

        Raises `StoreBusyError` while the first copy is being built in the background. Raises `StoreError` if the graph
        cannot be reached or the folder cannot be written. Also re-raises any error that a background task has raised
        since the last call."""
        position = self._feed.position()
        current = self._reached(position) or self._follow()
        if not current and not self._is_of(position):
            raise StoreBusyError(f"the indexes of the graph are being built in {self.folder}; try again later")
        with self._generations.snapshot() as snapshot:
            snapshot.current = current
            try:
                yield snapshot
            except CorruptStoreError:
                # Files are only checked when they are used. The next call rebuilds the whole index.
                self._damaged = True
                raise

    def wait(self) -> None:
        """Waits for the background task and re-raises any error."""
        if self._updater is not None:
            self._updater.join()
        self._raise_failure()

    def close(self) -> None:
        """Stops the background task and closes all files."""
        self._closing.set()
        if self._updater is not None:
            self._updater.join()
        self._generations.close()

    def _reached(self, position: Position) -> bool:
        standing = self._standing()
        if standing is None or standing.graph != position.graph:
            return False
        if standing.counter > position.counter:
            # The copy is newer: another process has updated it, or the graph was reset to an earlier state.
            return standing.counter <= self._feed.position().counter
        return standing.counter == position.counter

    def _standing(self) -> Position | None:
        if self._damaged:
            return None
        try:
            with self._generations.snapshot() as snapshot:
                return snapshot.position
        except (CorruptStoreError, ModelMismatchError):
            return None

    def _is_of(self, position: Position) -> bool:
        standing = self._standing()
        return standing is not None and standing.graph == position.graph

    def _check(self, opened: Generation) -> None:
        manifest = opened.manifest
        if manifest.position is None:
            raise StoreError(f"{self.folder} contains an original graph, not a copy; choose another folder")
        require_model(manifest.model, self._model)
        opened.verify(*manifest.files)

    def _follow(self) -> bool:
        """Updates the copy to the graph's position. Returns False if the update continues in the background."""
        with self._turn:
            self._raise_failure()
            position = self._feed.position()
            if self._reached(position):
                return True
            if not self._background:
                return self._update()
            if self._updater is None or not self._updater.is_alive():
                with contextlib.suppress(StoreBusyError):  # another process is updating the copy
                    if self._is_of(position) and self._update(quick=True, wait=_QUICK_SECONDS):
                        return True
                self._updater = threading.Thread(target=self._update_later, name="xkg-replica", daemon=True)
                self._updater.start()
            return False

    def _update_later(self) -> None:
        try:
            while not self._closing.is_set():
                with contextlib.suppress(StoreBusyError):  # another process is updating the copy
                    self._update(wait=_QUICK_SECONDS)
                    return
        except _Closing:
            pass
        except XkgError as error:
            self._failure = error
        except Exception as error:
            log.exception("the index of %s cannot be built", self.folder)
            self._failure = StoreError(f"the index in {self.folder} cannot be built ({error}); remove that folder")
            self._failure.__cause__ = error

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _update(self, *, quick: bool = False, wait: float = WAIT_SECONDS) -> bool:
        """Applies all changes and publishes the result. If `quick` is set and many techniques would have to be indexed,
        returns False without publishing anything. Raises `StoreBusyError` if another process holds the write lock for
        longer than `wait` seconds."""
        with self._generations.writing(repair=[], wait=wait) as current, contextlib.ExitStack() as stack:
            if self._reached(self._feed.position()):
                return True
            opened = stack.enter_context(self._generations.opened()) if self._standing() else None
            changes = self._feed.changes(opened.manifest.position if opened else None)
            before = {} if opened is None or changes.whole else opened.manifest.bundles
            known = {paper: file for paper, file in before.items() if paper not in changes.removed}
            count, added = 0 if opened is None else opened.manifest.counts["vectors"], 0
            for bundle in changes.bundles:
                self._go_on()
                known[bundle.paper.id] = bundles.write(self._generations.bundles, bundle, durable=False)
                added += len(bundle.techniques)
                if quick and added > max(build_files.SMALL, build_files.SHARE * count):
                    return False
            start = build_files.reusable(self.folder, opened, known)
            if quick and start is None and count + added > build_files.SMALL:
                return False
            if changes.decisions is not None:
                settled = {decision.key: decision for decision in changes.decisions}
            else:
                settled = dict(decisions.read(self.folder, opened.manifest.decisions)) if opened else {}

            def fill(folder: Path) -> Built:
                built = build_files.build_files(
                    self.folder,
                    folder,
                    known,
                    settled,
                    self._embedder_of,
                    start=start,
                    previous=opened,
                    go_on=self._go_on,
                )
                build_files.add_citations(folder)
                return built

            decided = decisions.write(self.folder, settled.values())
            self._generations.publish(current, fill, known, decided, changes.to, opened)
        self._damaged = False
        return True

    def _embedder_of(self, model: str) -> Embedder:
        embedder = self._embedder()
        require_model(model, embedder.model)
        return embedder

    def _go_on(self) -> None:
        if self._closing.is_set():
            raise _Closing


class _Closing(Exception):
    """Raised to stop the background task while the replica is being closed."""
