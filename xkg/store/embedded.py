"""`EmbeddedStore`: one graph in one folder, without a server.

Writers take one lock, build the next generation beside the current one from the bundles it is to hold, and switch. A
writer that dies, or finds the disk full, changes nothing: what it left is removed by the next one.
"""

import contextlib
import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xkg.errors import CorruptStoreError, ModelMismatchError, StoreError, UnknownIdError
from xkg.model import PaperBundle
from xkg.store import Table, bundles, decisions, generation
from xkg.store.bundles import BundleFile
from xkg.store.decisions import Decision
from xkg.store.generation import REBUILD, Current, Generation, Manifest
from xkg.store.lock import writing
from xkg.store.snapshot import EmbeddedSnapshot

if TYPE_CHECKING:
    from xkg.embed import Embedder

WAIT_SECONDS = 60.0
"""A writer waits this long for another: publishing one paper takes seconds."""


class EmbeddedStore:
    """`xkg.store.GraphStore` in `folder`, which is made by the first write.

    `embedder` is called when something must be embedded, never to open or read. `model` is the name of the embedding
    model in force: where it is given, indexes of another are refused at once. Safe to use from several threads, and in
    a forked child. Needs a file system with `flock`.
    """

    def __init__(
        self,
        folder: Path,
        embedder: "Callable[[], Embedder]",
        *,
        model: str | None = None,
        wait: float = WAIT_SECONDS,
    ) -> None:
        self.folder = folder
        self.place = str(folder)
        self._embedder = embedder
        self._model = model
        self._wait = wait
        self._turn = threading.RLock()
        self._shared: _Shared | None = None
        self._process = os.getpid()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[EmbeddedSnapshot]:
        """The generation that is current now; an empty one (number 0) where nothing was published yet.

        Snapshots of one generation share what they have open. Raises `CorruptStoreError` or `ModelMismatchError`, whose
        message names the command that mends it."""
        shared = self._acquire()
        try:
            yield shared.snapshot
        finally:
            self._release(shared)

    def publish(self, new: Sequence[PaperBundle]) -> int:
        """Adds or replaces papers in one step, and gives the new generation's number.

        Raises `InputError` for a bundle that contradicts itself, `StoreBusyError` when another writer does not finish,
        `ModelMismatchError` when the indexes are of another model, `CorruptStoreError` when another paper's bundle is
        damaged, and `StoreError` when the folder cannot be written. Nothing is changed then."""
        by_paper = {bundle.paper.id: bundle for bundle in new}
        if len(by_paper) != len(new):
            raise StoreError("one paper was given twice: give each once")
        for bundle in new:
            bundles.validate(bundle)
        with self._writing() as current, generation_or_none(self.folder) as opened:
            known = dict(opened.manifest.bundles) if opened else {}
            for paper, bundle in by_paper.items():
                known[paper] = bundles.write(self._bundles, bundle)
            return self._build(current, opened, known)

    def decide(self, found: Iterable[Decision]) -> int:
        """Adds decisions about pairs of techniques to those that are stored, newer ones in place of older, links all
        papers anew, and gives the new generation's number. Raises as `publish` does."""
        with self._writing() as current, generation_or_none(self.folder) as opened:
            if opened is None:
                return current.generation
            known = decisions.read(self.folder, opened.manifest.decisions)
            name = decisions.write(self.folder, [*known.values(), *found])
            return self._build(current, opened, opened.manifest.bundles, name)

    def revise(self, papers: Sequence[str], change: Callable[[PaperBundle], PaperBundle]) -> int:
        """Puts `change(bundle)` in the place of each of these papers as they are once no other writer is at work; those
        that are gone are left out. Gives the number of the generation that shows it, a new one if anything changed.
        Raises as `publish` does."""
        with self._writing() as current, generation_or_none(self.folder) as opened:
            known = dict(opened.manifest.bundles) if opened else {}
            for paper in known.keys() & set(papers):
                revised = change(bundles.read(self._bundles / known[paper].name, paper))
                bundles.validate(revised)
                known[paper] = bundles.write(self._bundles, revised)
            if opened is None or known == opened.manifest.bundles:
                return current.generation
            return self._build(current, opened, known)

    def remove(self, papers: Sequence[str]) -> int:
        """Takes papers out in one step, and gives the new generation's number. Raises as `publish` does, and
        `UnknownIdError`."""
        with self.snapshot() as snapshot:
            for paper in papers:
                snapshot.require_paper(paper)
        with self._writing() as current, generation_or_none(self.folder) as opened:
            known = dict(opened.manifest.bundles) if opened else {}
            for paper in papers:
                if known.pop(paper, None) is None:
                    raise UnknownIdError(f"paper {paper!a} was removed by another process meanwhile")
            return self._build(current, opened, known)

    def rollback(self) -> int:
        """Makes the generation before the current one current again, with its bundles, and gives its number; the last
        two can be had. Raises `StoreError` where there is none, or `CorruptStoreError`, and changes nothing then."""
        self._require_content("go back to")
        with self._writing() as current:
            if current.generation == 0:
                raise StoreError(f"{self.folder} holds no paper: there is nothing to go back from")
            manifest = generation.read_manifest(self.folder, current.generation, current.manifest_sha256)
            target = Current(
                generation=manifest.previous, highest=current.highest, manifest_sha256=manifest.previous_sha256
            )
            if target.generation not in generation.numbers(self.folder):
                raise StoreError(f"no generation before {current.generation} is kept: there is nothing to go back to")
            earlier = generation.read_manifest(self.folder, target.generation, target.manifest_sha256)
            generation.verify_all(self.folder, earlier)
            decisions.read(self.folder, earlier.decisions)
            for paper, file in earlier.bundles.items():
                bundles.read(self._bundles / file.name, paper)
            generation.switch(self.folder, target)
            return target.generation

    def rebuild(self) -> tuple[int, list[str]]:
        """Makes all derived files anew with the embedding model in force, and gives the new generation's number.

        Where `CURRENT` or the manifest cannot be read, the newest bundle of each paper is taken; the notes, one line
        each, say so and name every file that could not be used. Raises as `publish` does, and `StoreError` where there
        is no graph."""
        self._require_content("rebuild")
        notes: list[str] = []
        with self._writing(repair=notes) as current:
            known: dict[str, BundleFile] = {}
            decided = None
            if current.generation:
                try:
                    manifest = generation.read_manifest(self.folder, current.generation, current.manifest_sha256)
                    known = dict(manifest.bundles)
                    decided = manifest.decisions
                except CorruptStoreError as error:
                    notes.append(str(error).partition(": ")[0])
                    current = Current(highest=current.highest)
            if notes:
                notes.append("the newest bundle of each paper was taken; what was removed lately may be back")
                found, problems = bundles.newest(self._bundles)
                notes += problems
                known = {bundle.paper.id: bundles.write(self._bundles, bundle) for bundle in found}
                bundles.set_damaged_aside(self._bundles)
            decided, lost = decisions.readable(self.folder, decided)
            return self._build(current, None, known, decided), notes + lost

    def check(self) -> list[str]:
        """What is wrong with the stored graph, one line each, every file read in full; empty where all is well."""
        from xkg.store.checking import problems

        return problems(self.folder, self._model)

    def bundles(self) -> Iterator[PaperBundle]:
        """Every paper's bundle in id order. Raises `CorruptStoreError` at a damaged one; the others can still be had
        by id."""
        with self.snapshot() as snapshot:
            for paper in snapshot.papers():
                yield snapshot.bundle(paper.id)

    def decisions(self) -> Sequence[Decision]:
        """What was decided about pairs of techniques. Raises `CorruptStoreError`."""
        with generation_or_none(self.folder) as opened:
            return tuple(decisions.read(self.folder, opened.manifest.decisions).values()) if opened else ()

    def query(
        self, statement: str, parameters: Mapping[str, Any] | None = None, *, rows: int = 1000, seconds: float = 10
    ) -> Table:
        """Runs a read-only statement in a process without file access; the guard looks at it first. Raises
        `QueryRefusedError` and `QueryFailedError`."""
        from xkg.store.guard import guard

        with self.snapshot() as snapshot:
            return snapshot.queries().run(guard(statement), parameters, rows=rows, seconds=seconds)

    def warm_queries(self) -> None:
        """Starts the process that runs queries. Raises `QueryFailedError`."""
        with self.snapshot() as snapshot:
            snapshot.queries().start()

    def close(self) -> None:
        """Lets go of the open generation; the store can be used again after it."""
        with self._turn:
            shared, self._shared = self._shared, None
            if shared is not None:
                shared.stale = True
                if shared.users == 0:
                    shared.snapshot.close()

    @property
    def _bundles(self) -> Path:
        return self.folder / "bundles"

    def _require_content(self, purpose: str) -> None:
        if not any((self.folder / name).exists() for name in ("CURRENT", "bundles", "generations")):
            generation.read_current(self.folder)
            raise StoreError(f"{self.folder} holds no graph yet, nothing to {purpose}: build or import a paper first")

    def _acquire(self) -> "_Shared":
        with self._turn:
            if self._process != os.getpid():
                # What a parent opened belongs to the parent.
                self._process, self._shared = os.getpid(), None
            current = generation.read_current(self.folder)
            if self._shared is None or self._shared.current != current:
                opened = generation.open_current(self.folder)
                try:
                    self._check_model(opened)
                    snapshot = EmbeddedSnapshot(self.folder, opened)
                except BaseException:
                    if opened is not None:
                        opened.close()
                    raise
                self.close()
                self._shared = _Shared(current, snapshot)
            self._shared.users += 1
            return self._shared

    def _release(self, shared: "_Shared") -> None:
        with self._turn:
            shared.users -= 1
            if shared.stale and shared.users == 0:
                shared.snapshot.close()

    def _check_model(self, opened: Generation | None) -> None:
        model = opened.manifest.model if opened else ""
        if self._model is not None and model and model != self._model:
            raise ModelMismatchError(_mismatch(model, self._model))

    @contextlib.contextmanager
    def _writing(self, repair: list[str] | None = None) -> Iterator[Current]:
        """Holds the write lock over one change, and makes one line of whatever the system refuses. With `repair`,
        a `CURRENT` that cannot be read is noted there and taken as empty."""
        with _one_line(self.folder):
            if self.folder.exists() and not self.folder.is_dir():
                raise StoreError(f"{self.folder} is a file, not a folder: give another folder with --kg")
            self.folder.mkdir(parents=True, exist_ok=True)
            with writing(self.folder, self._wait):
                try:
                    current = generation.read_current(self.folder)
                except CorruptStoreError as error:
                    if repair is None:
                        raise
                    repair.append(str(error).partition(": ")[0])
                    current = Current(highest=max(generation.numbers(self.folder), default=0))
                else:
                    if not (self.folder / "CURRENT").exists():
                        # From here on a missing CURRENT means that it was lost.
                        generation.switch(self.folder, current)
                self._bundles.mkdir(exist_ok=True)
                (self.folder / "generations").mkdir(exist_ok=True)
                try:
                    yield current
                finally:
                    # What this store itself still had open is of an earlier generation now.
                    self.close()
                    # After a failure too: on a full disk every byte counts.
                    with contextlib.suppress(OSError, StoreError):
                        generation.clean_up(self.folder)

    def _build(
        self,
        current: Current,
        opened: Generation | None,
        known: Mapping[str, BundleFile],
        decided: str | None = None,
    ) -> int:
        """`decided` is the file of decisions that hold, None for those of `opened`."""
        from xkg.store.building import build_files

        number = max(current.highest, *generation.numbers(self.folder), 0) + 1
        if decided is None:
            decided = opened.manifest.decisions if opened else ""
        settled = decisions.read(self.folder, decided)
        building = generation.building_folder(self.folder, number)
        try:
            built = build_files(building, self._stored(known), self._embedder_of, opened, settled)
            manifest = Manifest(
                number=number,
                previous=current.generation,
                previous_sha256=current.manifest_sha256,
                model=built.model,
                dimension=built.dimension,
                vectors=built.vectors,
                counts=built.counts,
                files=generation.stamp(building),
                bundles=dict(sorted(known.items())),
                decisions=decided,
            )
            generation.commit(self.folder, building, manifest, current.highest)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
        return number

    def _stored(self, known: Mapping[str, BundleFile]) -> Iterable[tuple[PaperBundle, BundleFile]]:
        return ((bundles.read(self._bundles / file.name, paper), file) for paper, file in sorted(known.items()))

    def _embedder_of(self, stored_model: str) -> "Embedder":
        embedder = self._embedder()
        if stored_model and embedder.model != stored_model:
            raise ModelMismatchError(_mismatch(stored_model, embedder.model))
        return embedder


class _Shared:
    """An open snapshot with the number of those who use it; closed by the last after it went stale."""

    def __init__(self, current: Current, snapshot: EmbeddedSnapshot) -> None:
        self.current = current
        self.snapshot = snapshot
        self.users = 0
        self.stale = False


def _mismatch(stored: str, in_force: str) -> str:
    return (
        f"the indexes were made with embedding model {stored!r}, and {in_force!r} is set: set {stored!r} again, or "
        f"{REBUILD} to embed everything anew"
    )


@contextlib.contextmanager
def generation_or_none(folder: Path) -> Iterator[Generation | None]:
    """The current generation, held for the time of the context."""
    opened = generation.open_current(folder)
    try:
        yield opened
    finally:
        if opened is not None:
            opened.close()


@contextlib.contextmanager
def _one_line(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error, RuntimeError, MemoryError) as error:
        raise StoreError(
            f"{folder} cannot be written ({_reason(error)}): nothing was changed; free space or mend "
            "permissions, then try again"
        ) from error


def _reason(error: Exception) -> str:
    """Why a write failed, in a few words: the engine's own line tells of descriptors and offsets."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = (str(error).splitlines() or [""])[0]
    full = os.strerror(errno.ENOSPC)
    if full in text:
        return full
    # A write that a full disk cut short shows when the engine reads it back.
    return "input or output error, the disk may be full" if "IO exception" in text else text or type(error).__name__
