"""`Replica`: the side indexes of one machine, which follow a graph that is stored elsewhere.

    <folder>/replica.lock         held during a full rebuild; readers and small steps continue
             making/              its unfinished files; the next rebuild starts over
             CURRENT, bundles/, links/, generations/   as in `xkg.store.local.generation`, without a graph

Everything here is derived: data that is lost, damaged, or of another graph or embedding model is rebuilt.
"""

import contextlib
import logging
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from xkg.embeddings.base import EncodedDocuments, encode_documents
from xkg.errors import CorruptStoreError, ModelMismatchError, StoreError, XkgError
from xkg.files import file_lock, private_folder
from xkg.model import PaperBundle
from xkg.store import bundles
from xkg.store.bundles import BundleFile
from xkg.store.change_feed import Feed, Position
from xkg.store.concepts import decisions
from xkg.store.local.generation import Generation
from xkg.store.local.generations import Built, Generations, one_line
from xkg.store.local.snapshot import EmbeddedSnapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from xkg.embeddings.base import Embedder

_T = TypeVar("_T")
log = logging.getLogger(__name__)

WAIT_SECONDS = 60.0
"""Maximum wait for the write lock."""
SMALL = 2000
"""The number of techniques that a full rebuild indexes within a second or two; with more, changes go into a layer."""
SHARE = 1.0
MOST = 20_000
"""The maximum size of a layer, including the dead rows of its base: this share of the base, and this number of rows, up
to which a query is compared with all vectors anyway. Beyond it, the whole index is rebuilt; in the background, from
half of it on, so that answers never wait."""
MOST_DECIDED = 1000
"""The maximum number of changed decisions, each of which links two papers again."""


class Replica:
    """A copy of the graph behind `feed`, in a separate `folder` that processes share.

    `embedder` is called when something must be embedded. `model` is the configured embedding model's name: an index of
    another model is rebuilt. With `background`, slow work runs as a background task. Thread-safe. Needs a file system
    with `flock`."""

    def __init__(
        self,
        folder: Path,
        feed: Feed,
        embedder: "Callable[[], Embedder]",
        *,
        model: str | None = None,
        background: bool,
    ) -> None:
        self.folder = folder
        self._feed = feed
        self._embedder = embedder
        self._model = model
        self._background = background
        self._generations = Generations(folder, wait=WAIT_SECONDS, check=self._check, retained=0)
        self._turn = threading.Lock()
        self._maker: threading.Thread | None = None
        self._failure: XkgError | None = None
        self._damaged = False
        self._closing = threading.Event()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[EmbeddedSnapshot | None]:
        """The current graph, or None while its index is being built in the background.

        Raises `StoreError` if the graph cannot be reached or the folder cannot be written, and any error of a
        background task since the last call."""
        position = self._feed.position()
        if not self._reached(position) and not self._follow():
            yield None
            return
        with contextlib.ExitStack() as stack:
            snapshot: EmbeddedSnapshot | None = stack.enter_context(self._generations.snapshot())
            at = snapshot.position if snapshot else None
            if at is None or at.graph != position.graph or at.counter < position.counter:
                # An index built in the background shows the graph at the time when the build began.
                snapshot = stack.enter_context(self.snapshot())
            try:
                yield snapshot
            except CorruptStoreError:
                # The damaged file is read on demand, so the next call rebuilds the whole index.
                self._damaged = True
                raise

    def rebuild(self) -> None:
        """Rebuilds the whole index from the graph while the caller waits. Raises the same errors as `snapshot`."""
        with self._turn:
            self._damaged = True
            self._make(False, wait=True)

    def wait(self) -> None:
        """Waits for the background task, and raises its error."""
        maker = self._maker
        if maker is not None:
            maker.join()
        self._raise_failure()

    def close(self) -> None:
        """Ends the background task and closes all files."""
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
            # Another process was faster, or the graph was reset to an earlier state.
            return standing.counter <= self._feed.position().counter
        return standing.counter == position.counter

    def _standing(self) -> Position | None:
        """The copy's position; None without a usable copy."""
        if self._damaged:
            return None
        try:
            with self._generations.snapshot() as snapshot:
                return snapshot.position
        except (CorruptStoreError, ModelMismatchError):
            return None

    def _check(self, opened: Generation) -> None:
        manifest = opened.manifest
        if manifest.position is None:
            raise StoreError(f"{self.folder} holds a graph of its own, no copy of another: give another folder")
        if self._model is not None and manifest.model not in ("", self._model):
            raise ModelMismatchError(f"the copy was made with embedding model {manifest.model!r}")
        opened.verify(*manifest.files)

    # --- following ----------------------------------------------------------------------------------------------------

    def _follow(self) -> bool:
        """Brings the copy to the graph's position; False if that continues in the background."""
        with self._turn:
            self._raise_failure()
            position = self._feed.position()
            if self._reached(position):
                return True
            standing = self._standing()
            behind = standing is not None and standing.graph == position.graph
            if behind:
                try:
                    if self._catch_up(position):
                        return True
                except (CorruptStoreError, ModelMismatchError):
                    self._damaged, behind = True, False
            if not self._background:
                self._make(behind, wait=True)
                return True
            if behind and self._make(behind, limit=SMALL):
                return True
            self._begin(behind)
            return False

    def _catch_up(self, position: Position) -> bool:
        """Publishes the changes as a layer above the base. Returns False, without doing anything, if the base is too
        small to be worth a layer, or the changes are too large for one."""
        from xkg.store.local.write_layers import add_layer, rows_of, size, unchanged

        with self._generations.opened() as start:
            if start is None or _base_rows(start) <= SMALL:
                return False
        with self._generations.writing() as current, self._generations.opened() as start:
            if self._reached(position):
                return True
            if start is None or (base := _base_rows(start)) <= SMALL:
                return False
            manifest = start.manifest
            changes = self._feed.changes(manifest.position)
            if changes.whole:
                return False
            most = min(SHARE * base, MOST)
            room = most - size(start)
            known = dict(manifest.bundles)
            removed = changes.removed & known.keys()
            for paper in removed:
                del known[paper]
            changed = []
            for bundle in changes.bundles:
                file = bundles.write(self._generations.bundles, bundle, durable=False)
                if known.get(bundle.paper.id) != file:
                    known[bundle.paper.id] = file
                    changed.append((bundle, file))
                    room -= len(bundle.techniques)
                if room < 0:
                    return False
            if room < rows_of(start, removed | {bundle.paper.id for bundle, _ in changed}):
                return False
            before = decisions.read(self.folder, manifest.decisions)
            settled = before if changes.decisions is None else {d.key: d for d in changes.decisions}
            decided = {*before.values()} ^ {*settled.values()}
            if len(decided) > MOST_DECIDED:
                return False
            name = decisions.write(self.folder, settled.values()) if decided else manifest.decisions

            def fill(folder: Path) -> Built:
                if not (changed or removed or decided):
                    return unchanged(folder, start)
                return add_layer(folder, start, changed, removed, self._embedder, settled, decided)

            self._generations.publish(current, fill, known, name, changes.to, start)
        if self._background:
            with self._generations.opened() as opened:
                if opened is not None and size(opened) > most / 2:
                    self._begin(True, compact=True)
        return True

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
            except Exception as error:  # raised at the next call: a thread has no caller
                log.exception("the index of %s cannot be built", self.folder)
                self._failure = StoreError(f"the index in {self.folder} cannot be made ({error}): remove that folder")
                self._failure.__cause__ = error

        self._maker = threading.Thread(target=make, name="xkg-replica", daemon=True)
        self._maker.start()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    # --- full rebuild -------------------------------------------------------------------------------------------------

    def _make(self, behind: bool, *, wait: bool = False, limit: int | None = None, compact: bool = False) -> bool:
        """Builds a whole index and publishes it, from the copy and its changes (`behind`) or from the whole graph; with
        `compact` even if nothing changed. Returns False, without doing anything, if another process is building (unless
        `wait`), or if there are more techniques than `limit`."""
        self._claim()
        with one_line(self.folder), file_lock(self.folder / "replica.lock", wait=wait) as mine:
            if not mine:
                return False
            if self._reached(self._feed.position()) and not compact:
                return True
            making = self.folder / "making"
            shutil.rmtree(making, ignore_errors=True)
            try:
                if behind and not self._damaged:
                    with contextlib.suppress(CorruptStoreError), self._generations.opened() as start:
                        return self._build(making, start, limit)
                    shutil.rmtree(making, ignore_errors=True)
                return self._build(making, None, limit)
            finally:
                shutil.rmtree(making, ignore_errors=True)

    def _claim(self) -> None:
        """Claims the folder for this replica. Raises `StoreError` if it holds something else."""
        with one_line(self.folder):
            own = self.folder / "replica.lock"
            if not own.exists() and any((self.folder / name).exists() for name in ("bundles", "generations")):
                raise StoreError(f"{self.folder} holds a graph of its own, no copy of another: give another folder")
            private_folder(self.folder)
            own.touch()

    def _build(self, making: Path, start: Generation | None, limit: int | None) -> bool:
        from xkg.store.local.build_files import build_files
        from xkg.store.local.write_layers import size, unchanged

        fresh = making / "bundles"
        fresh.mkdir(parents=True)
        changes = self._feed.changes(start.manifest.position if start else None)
        if changes.whole:
            start = None
        known = dict(start.manifest.bundles) if start else {}
        techniques = start.manifest.counts["vectors"] if start else 0
        if limit is not None and techniques > limit:
            return False
        for paper in changes.removed:
            known.pop(paper, None)
        for bundle in self._going_on(changes.bundles):
            techniques += len(bundle.techniques)
            if limit is not None and techniques > limit:
                return False
            known[bundle.paper.id] = bundles.write(fresh, bundle, durable=False)
        before = decisions.read(self.folder, start.manifest.decisions) if start else {}
        settled = before if changes.decisions is None else {d.key: d for d in changes.decisions}
        if start is not None and not size(start) and known == start.manifest.bundles and settled == before:
            with self._generations.writing() as current:
                if current.generation == start.manifest.number:
                    name = start.manifest.decisions
                    self._generations.publish(
                        current, lambda folder: unchanged(folder, start), known, name, changes.to, start
                    )
                    return True

        def stored() -> Iterable[tuple[PaperBundle, BundleFile]]:
            for paper, file in self._going_on(sorted(known.items())):
                here = fresh / file.name
                yield bundles.read(here if here.exists() else self._generations.bundles / file.name, paper), file

        building = making / "generation"
        building.mkdir()
        built = build_files(building, stored(), lambda _: self._stoppable(), None, settled, rows=None)
        if start is not None:
            start.close()  # so that the switch to this generation can remove its files
        with self._generations.writing(repair=[]) as current:
            for path in fresh.iterdir():
                path.replace(self._generations.bundles / path.name)
            decided = decisions.write(self.folder, settled.values())
            # Another process may have advanced the earlier index meanwhile; the next step catches up with it.
            self._generations.publish(
                current, lambda folder: _moved(building, folder, built), known, decided, changes.to
            )
        self._damaged = False
        return True

    def _going_on(self, values: Iterable[_T]) -> Iterator[_T]:
        for value in values:
            if self._closing.is_set():
                raise _Closing
            yield value

    def _stoppable(self) -> "Embedder":
        return _Stoppable(self._embedder(), self._closing)


def _base_rows(generation: Generation) -> int:
    manifest = generation.manifest
    return manifest.layers.base_rows if manifest.layers else manifest.counts["vectors"]


class _Closing(Exception):
    """The replica is being closed: ends the background task."""


class _Stoppable:
    """An `Embedder` whose calls raise `_Closing` once `closing` is set."""

    def __init__(self, embedder: "Embedder", closing: threading.Event) -> None:
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
