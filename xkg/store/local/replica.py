"""`Replica`: local side indexes for a graph stored elsewhere, kept up to date.

    <folder>/replica.lock         held during a full rebuild; readers and small steps continue
             making/              the rebuild's unfinished files; the next rebuild starts over
             CURRENT, bundles/, links/, generations/   as in `xkg.store.local.generation`, without a graph

Everything here is derived. Data that is lost, damaged, or from a different graph or embedding model is rebuilt."""

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xkg.embeddings.base import Embedder, EncodedDocuments, encode_documents
from xkg.errors import CorruptStoreError, ModelMismatchError, StoreBusyError, StoreError, XkgError
from xkg.files import file_lock, private_folder
from xkg.model import PaperBundle
from xkg.store import bundles
from xkg.store.bundles import BundleFile
from xkg.store.change_feed import Feed, Position
from xkg.store.concepts import decisions
from xkg.store.local.build_files import SHARE, SMALL, build_files, editable
from xkg.store.local.generation import Generation
from xkg.store.local.generations import Built, Generations, one_line
from xkg.store.local.snapshot import EmbeddedSnapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_T = TypeVar("_T")
log = logging.getLogger(__name__)

WAIT_SECONDS = 60.0
"""How long to wait for the write lock."""


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
        self._maker: threading.Thread | None = None
        self._failure: XkgError | None = None
        self._damaged = False
        self._closing = threading.Event()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[EmbeddedSnapshot]:
        """Yields the current graph. While the copy is being updated in the background, this is an earlier state, for
        which `current` is False.

        Raises `StoreBusyError` while the first copy is being built in the background, and `StoreError` if the graph
        cannot be reached or the folder cannot be written. Also re-raises any error that a background task has raised
        since the last call."""
        position = self._feed.position()
        current = self._reached(position) or self._follow()
        if not current and not self._is_of(position):
            raise StoreBusyError(f"the indexes of the graph are being built in {self.folder}; try again later")
        with contextlib.ExitStack() as stack:
            snapshot = stack.enter_context(self._generations.snapshot())
            at = snapshot.position
            if current and (at is None or at.graph != position.graph or at.counter < position.counter):
                # An index built in the background reflects the graph at the time the build started.
                snapshot = stack.enter_context(self.snapshot())
            else:
                snapshot.current = current
            try:
                yield snapshot
            except CorruptStoreError:
                # Files are only checked when they are used. The next call rebuilds the whole index.
                self._damaged = True
                raise

    def rebuild(self) -> None:
        """Rebuilds the whole index from the graph, in the foreground. Raises the same errors as `snapshot`."""
        with self._turn:
            self._damaged = True
            self._make(False, wait=True)

    def wait(self) -> None:
        """Waits for the background task and re-raises any error."""
        maker = self._maker
        if maker is not None:
            maker.join()
        self._raise_failure()

    def close(self) -> None:
        """Stops the background task and closes all files."""
        self._closing.set()
        if self._maker is not None:
            self._maker.join()
        self._generations.close()

    # --- the copy's position ----------------------------------------------------------------------------------------

    def _reached(self, position: Position) -> bool:
        standing = self._standing()
        if standing is None or standing.graph != position.graph:
            return False
        if standing.counter > position.counter:
            # Another process has already caught up, or the graph was reset to an earlier state.
            return standing.counter <= self._feed.position().counter
        return standing.counter == position.counter

    def _standing(self) -> Position | None:
        """Returns the copy's position, or None if there is no usable copy."""
        if self._damaged:
            return None
        try:
            with self._generations.snapshot() as snapshot:
                return snapshot.position
        except (CorruptStoreError, ModelMismatchError):
            return None

    def _is_of(self, position: Position) -> bool:
        """Whether there is a usable copy of any state of the same graph."""
        standing = self._standing()
        return standing is not None and standing.graph == position.graph

    def _check(self, opened: Generation) -> None:
        manifest = opened.manifest
        if manifest.position is None:
            raise StoreError(f"{self.folder} contains an original graph, not a copy; choose another folder")
        if self._model is not None and manifest.model not in ("", self._model):
            raise ModelMismatchError(f"the copy was built with embedding model {manifest.model!r}")
        opened.verify(*manifest.files)

    # --- following ----------------------------------------------------------------------------------------------------

    def _follow(self) -> bool:
        """Updates the copy to the graph's position. Returns False if the update continues in the background."""
        with self._turn:
            self._raise_failure()
            position = self._feed.position()
            if self._reached(position):
                return True
            behind = self._is_of(position)
            if behind:
                try:
                    if self._catch_up(position):
                        return True
                except (CorruptStoreError, ModelMismatchError):
                    self._damaged, behind = True, False
            if not self._background:
                self._make(behind, wait=True)
                return True
            self._begin(behind)
            return False

    def _catch_up(self, position: Position) -> bool:
        """Applies the changes to a copy of the indexes, or reindexes the graph if it is small. If a large graph must be
        reindexed, returns False without publishing anything."""
        with self._generations.writing() as current, self._generations.opened() as start:
            if self._reached(position):
                return True
            if start is None:
                return False
            manifest = start.manifest
            count = manifest.counts["vectors"]
            changes = self._feed.changes(manifest.position)
            if changes.whole:
                return False
            added = 0
            known = {paper: file for paper, file in manifest.bundles.items() if paper not in changes.removed}
            new = []
            for bundle in changes.bundles:
                file = bundles.write(self._generations.bundles, bundle, durable=False)
                if known.get(bundle.paper.id) != file:
                    known[bundle.paper.id] = file
                    new.append((bundle, file))
                    added += len(bundle.techniques)
                if added > max(SMALL, SHARE * count):
                    return False
            gone = [paper for paper, file in manifest.bundles.items() if known.get(paper) != file]
            before = decisions.read(self.folder, manifest.decisions)
            settled = before if changes.decisions is None else {d.key: d for d in changes.decisions}
            decided = {*before.values()} ^ {*settled.values()}
            whole = bool(new or gone or decided) and not editable(start, (bundle for bundle, _ in new), gone)
            if whole and count + added > SMALL:
                return False

            def fill(folder: Path) -> Built:
                of, stored = (None, self._stored(known)) if whole else (start, new)
                return build_files(folder, of, stored, gone, self._embedder_of, settled, decided, previous=start)

            name = decisions.write(self.folder, settled.values()) if decided else manifest.decisions
            self._generations.publish(current, fill, known, name, changes.to, start)
            aged = manifest.changed > SHARE * count / 2
        if self._background and aged:
            self._begin(True, compact=True)
        return True

    def _stored(self, known: Mapping[str, BundleFile]) -> Iterator[tuple[PaperBundle, BundleFile]]:
        for paper, file in sorted(known.items()):
            yield bundles.read(self._generations.bundles / file.name, paper), file

    def _embedder_of(self, model: str) -> Embedder:
        embedder = self._embedder()
        if model and embedder.model != model:
            raise ModelMismatchError(f"the copy was built with embedding model {model!r}, not {embedder.model!r}")
        return embedder

    def _begin(self, behind: bool, *, compact: bool = False) -> None:
        if self._maker is not None and self._maker.is_alive():
            return

        def make() -> None:
            try:
                self._make(behind, compact=compact)
            except _Closing:
                pass
            except XkgError as error:
                self._failure = error
            except Exception as error:  # re-raised by the next call
                log.exception("the index of %s cannot be built", self.folder)
                self._failure = StoreError(f"the index in {self.folder} cannot be built ({error}); remove that folder")
                self._failure.__cause__ = error

        self._maker = threading.Thread(target=make, name="xkg-replica", daemon=True)
        self._maker.start()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # --- full rebuild -------------------------------------------------------------------------------------------------

    def _make(self, behind: bool, *, wait: bool = False, compact: bool = False) -> None:
        """Reindexes all papers and publishes the result. If `behind` is set, reads the copy and all later changes,
        otherwise the whole graph. If nothing has changed, does nothing unless `compact` is set. If another process is
        already reindexing, does nothing unless `wait` is set."""
        self._claim()
        with one_line(self.folder), file_lock(self.folder / "replica.lock", wait=wait) as mine:
            if not mine or (self._reached(self._feed.position()) and not compact):
                return
            making = self.folder / "making"
            shutil.rmtree(making, ignore_errors=True)
            try:
                if behind and not self._damaged:
                    with contextlib.suppress(CorruptStoreError), self._generations.opened() as start:
                        self._build(making, start)
                        return
                    shutil.rmtree(making, ignore_errors=True)
                self._build(making, None)
            finally:
                shutil.rmtree(making, ignore_errors=True)

    def _claim(self) -> None:
        """Claims the folder for this replica. Raises `StoreError` if the folder contains something else."""
        with one_line(self.folder):
            own = self.folder / "replica.lock"
            if not own.exists() and any((self.folder / name).exists() for name in ("bundles", "generations")):
                raise StoreError(f"{self.folder} contains an original graph, not a copy; choose another folder")
            private_folder(self.folder)
            own.touch()

    def _build(self, making: Path, start: Generation | None) -> None:
        fresh = making / "bundles"
        fresh.mkdir(parents=True)
        changes = self._feed.changes(start.manifest.position if start else None)
        if changes.whole:
            start = None
        known = dict(start.manifest.bundles) if start else {}
        for paper in changes.removed:
            known.pop(paper, None)
        for bundle in self._going_on(changes.bundles):
            known[bundle.paper.id] = bundles.write(fresh, bundle, durable=False)
        before = decisions.read(self.folder, start.manifest.decisions) if start else {}
        settled = before if changes.decisions is None else {d.key: d for d in changes.decisions}

        def stored() -> Iterable[tuple[PaperBundle, BundleFile]]:
            for paper, file in self._going_on(sorted(known.items())):
                here = fresh / file.name
                yield bundles.read(here if here.exists() else self._generations.bundles / file.name, paper), file

        building = making / "generation"
        building.mkdir()
        built = build_files(building, None, stored(), (), lambda _: self._stoppable(), settled)
        if start is not None:
            start.close()  # the old files can then be removed when the new generation is published
        with self._generations.writing(repair=[]) as current:
            for path in fresh.iterdir():
                path.replace(self._generations.bundles / path.name)
            decided = decisions.write(self.folder, settled.values())
            # If another process has updated the earlier index in the meantime, the next step catches up.
            self._generations.publish(
                current, lambda folder: _moved(building, folder, built), known, decided, changes.to
            )
        self._damaged = False

    def _going_on(self, values: Iterable[_T]) -> Iterator[_T]:
        for value in values:
            if self._closing.is_set():
                raise _Closing
            yield value

    def _stoppable(self) -> Embedder:
        return _Stoppable(self._embedder(), self._closing)


class _Closing(Exception):
    """Stops the background task while the replica is being closed."""


class _Stoppable:
    """An `Embedder` whose calls raise `_Closing` once `closing` is set."""

    def __init__(self, embedder: Embedder, closing: threading.Event) -> None:
        self._embedder = embedder
        self._closing = closing
        self.model = embedder.model

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        return self.encode_documents(texts).vectors

    def encode_documents(self, texts: Sequence[str]) -> EncodedDocuments:
        if self._closing.is_set():
            raise _Closing
        return encode_documents(self._embedder, texts)


def _moved(source: Path, target: Path, built: Built) -> Built:
    for path in source.iterdir():
        path.rename(target / path.name)
    return built
