"""Stores a graph in a folder, without a server (`EmbeddedStore`).

A writer holds the write lock, builds the next generation from bundles alongside the current one, and then switches to
it. If a writer dies or the disk is full, the graph does not change, and the next writer removes any leftovers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from xkg.embeddings.base import Embedder
from xkg.errors import CorruptStoreError, StoreError, UnknownIdError
from xkg.files import private_folder
from xkg.model import Ablation, Paper, PaperBundle
from xkg.store import ablations, bundles
from xkg.store.bundles import BundleFile
from xkg.store.concepts import decisions
from xkg.store.cypher.guard import guard
from xkg.store.cypher.ladybug_dialect import for_ladybug, heads
from xkg.store.graph_store import Decision, Recognise, Table
from xkg.store.local import generation, graph_rows
from xkg.store.local.generation import Current, Generation, Manifest
from xkg.store.local.generations import Built, Generations, one_line, require_model
from xkg.store.local.snapshot import EmbeddedSnapshot

WAIT_SECONDS = 60.0
"""How long to wait for another writer. Publishing a paper takes seconds."""


class EmbeddedStore:
    """Implements `xkg.store.graph_store.GraphStore` in `folder`, which is created by the first write.

    `embedder` is only called when something must be embedded, never for opening or reading. `model` is the name of the
    configured embedding model. If `model` is given, indexes built with a different model are rejected immediately.
    Thread-safe, and safe to use in forked processes. Requires a file system with `flock`."""

    def __init__(
        self,
        folder: Path,
        embedder: Callable[[], Embedder],
        *,
        model: str | None = None,
        wait: float = WAIT_SECONDS,
    ) -> None:
        self.folder = folder
        self.place = str(folder)
        self._embedder = embedder
        self._model = model
        self._generations = Generations(
            folder, wait=wait, check=lambda opened: require_model(opened.manifest.model, model)
        )

    def snapshot(self) -> AbstractContextManager[EmbeddedSnapshot]:
        """Returns the current generation, or an empty one (number 0) if nothing has been published yet.

        Snapshots of the same generation share their open files. Raises `CorruptStoreError` or `ModelMismatchError` with
        the command that fixes the problem."""
        return self._generations.snapshot()

    def lease(self, paper: str, holder: str) -> AbstractContextManager[int]:  # noqa: ARG002
        """Does nothing. Leases are not needed, because only one machine uses a folder, and batches on the same machine
        divide papers among themselves."""
        return nullcontext(0)

    def counter(self) -> int:
        with self.snapshot() as snapshot:
            return snapshot.generation

    def publish(
        self,
        new: Iterable[PaperBundle],
        fences: Mapping[str, int] | None = None,  # noqa: ARG002
        recognise: Recognise | None = None,
    ) -> int:
        """Adds or replaces papers in one step. Returns the number of the generation that contains the papers, which is
        the current generation if nothing changed. There are no leases, so `fences` is ignored.

        Raises one of these errors, in which case nothing is changed:

        - `InputError` if a bundle is inconsistent
        - `StoreBusyError` if another writer does not finish in time
        - `ModelMismatchError` if the indexes were built with a different model
        - `CorruptStoreError` if another paper's bundle is damaged
        - `StoreError` if the folder is not writable"""
        with self._generations.writing() as current, self._generations.opened() as opened:
            written: dict[str, BundleFile] = {}
            for bundle in new:
                bundles.validate(bundle)
                if bundle.paper.id in written:
                    raise StoreError("a paper was passed twice; pass each paper once")
                if recognise is not None and opened and opened.manifest.number > recognise.since:
                    self._recognise(recognise.check, bundle)
                written[bundle.paper.id] = bundles.write(self._generations.bundles, bundle)
            return self._build_changed(current, opened, {**(opened.manifest.bundles if opened else {}), **written})

    def _recognise(self, check: Callable[[PaperBundle, Sequence[Paper]], None], bundle: PaperBundle) -> None:
        with self.snapshot() as snapshot:
            if not snapshot.headings([bundle.paper.id]):
                same = [snapshot.bundle(other).paper for other in snapshot.called(bundle.paper.title)]
                check(bundle, [paper for paper in same if paper.id != bundle.paper.id])

    def require_writable(self) -> None:
        """Raises `StoreError` if the folder cannot be created."""
        with one_line(self.folder):
            private_folder(self.folder)

    def connect(self) -> None:
        """Does nothing, because publishing already connects all papers."""

    def decide(self, new: Iterable[Decision]) -> int:
        """Adds or replaces decisions about pairs of techniques, recomputes the links, and returns the new generation's
        number. Raises the same errors as `publish`."""
        with self._generations.writing() as current, self._generations.opened() as opened:
            if opened is None:
                return current.generation
            known = decisions.read(self.folder, opened.manifest.decisions)
            name = decisions.write(self.folder, [*known.values(), *new])
            return self._build(current, opened, opened.manifest.bundles, name)

    def add_ablations(self, new: Iterable[Ablation]) -> int:
        """Adds measurements, replacing any with the same ids, and returns the number of the generation that contains
        them. Raises the same errors as `publish`."""
        with self._generations.writing() as current, self._generations.opened() as opened:
            if opened is None:
                return current.generation
            known = ablations.read(self.folder, opened.manifest.ablations)
            name = ablations.write(self.folder, [*known.values(), *new])
            if name == opened.manifest.ablations:
                return current.generation
            return self._build(current, opened, opened.manifest.bundles, measured=name)

    def ablations(self, techniques: Sequence[str] | None = None) -> Sequence[Ablation]:
        """Returns the measurements of these techniques, or of all techniques if None, in id order. Raises
        `CorruptStoreError` if the file is damaged."""
        with self._generations.opened() as opened:
            name = opened.manifest.ablations if opened else ""
            found = ablations.read(self.folder, name).values()
        return tuple(a for a in found if techniques is None or a.technique in techniques)

    def revise(self, papers: Sequence[str], change: Callable[[PaperBundle], PaperBundle]) -> int:
        """Replaces each of these papers with `change(bundle)` under the write lock. Deleted papers are skipped. Returns
        the number of the generation that contains the result, which is the current generation if nothing changed.
        Raises the same errors as `publish`."""
        with self._generations.writing() as current, self._generations.opened() as opened:
            known = dict(opened.manifest.bundles) if opened else {}
            for paper in known.keys() & set(papers):
                revised = change(bundles.read(self._generations.bundles / known[paper].name, paper))
                bundles.validate(revised)
                known[paper] = bundles.write(self._generations.bundles, revised)
            return current.generation if opened is None else self._build_changed(current, opened, known)

    def remove(self, papers: Sequence[str]) -> int:
        """Removes papers in one step and returns the new generation's number. Raises `UnknownIdError` if a paper is
        unknown, and the same errors as `publish`."""
        with self.snapshot() as snapshot:
            for paper in papers:
                snapshot.require_paper(paper)
        with self._generations.writing() as current, self._generations.opened() as opened:
            known = dict(opened.manifest.bundles) if opened else {}
            for paper in papers:
                if known.pop(paper, None) is None:
                    raise UnknownIdError(f"paper {paper!a} was removed by another process in the meantime")
            return self._build(current, opened, known)

    def rollback(self) -> int:
        """Restores the previous generation, including its bundles, and returns its number. Two earlier generations are
        kept. Raises `CorruptStoreError` if the previous generation is damaged, and `StoreError` if there is none. If
        either error is raised, nothing is changed."""
        self._require_content("roll back")
        with self._generations.writing() as current:
            if current.generation == 0:
                raise StoreError(f"{self.folder} has no papers: there is nothing to roll back")
            manifest = generation.read_manifest(self.folder, current.generation, current.manifest_sha256)
            target = Current(
                generation=manifest.previous, highest=current.highest, manifest_sha256=manifest.previous_sha256
            )
            if target.generation not in generation.numbers(self.folder):
                raise StoreError(
                    f"no generation before {current.generation} was kept: there is nothing to roll back to"
                )
            earlier = generation.read_manifest(self.folder, target.generation, target.manifest_sha256)
            generation.verify_all(self.folder, earlier)
            decisions.read(self.folder, earlier.decisions)
            ablations.read(self.folder, earlier.ablations)
            for paper, file in earlier.bundles.items():
                bundles.read(self._generations.bundles / file.name, paper)
            generation.switch(self.folder, target)
            return target.generation

    def differences(
        self, first: int | None, second: int | None
    ) -> Iterator[tuple[PaperBundle | None, PaperBundle | None]]:
        """Yields the papers that differ between two generations (see `GraphStore.differences`). Bundles are read
        lazily, and may be removed by a writer in the meantime."""
        self._require_content("compare")
        if second is None:
            second = generation.read_current(self.folder).generation
        after = self._manifest(second)
        before = self._manifest(after.previous if first is None and after is not None else first or 0)
        olds, news = ({} if manifest is None else manifest.bundles for manifest in (before, after))
        for paper in sorted(olds.keys() | news.keys()):
            old, new = olds.get(paper), news.get(paper)
            if old != new:
                yield self._bundle(paper, old), self._bundle(paper, new)

    def _manifest(self, number: int) -> Manifest | None:
        """Returns a generation's manifest, or None for 0, the initial empty graph. Raises `StoreError` if the
        generation has been deleted or does not exist yet."""
        known = generation.numbers(self.folder)
        if number == 0:
            return None
        if number not in known:
            kept = ", ".join(map(str, known)) or "none"
            if number > generation.read_current(self.folder).highest:
                raise StoreError(f"there is no generation {number} yet in {self.folder}; available: {kept}")
            raise StoreError(f"generation {number} of {self.folder} is no longer kept; available: {kept}")
        return generation.read_manifest(self.folder, number)

    def _bundle(self, paper: str, file: BundleFile | None) -> PaperBundle | None:
        return None if file is None else bundles.read(self._generations.bundles / file.name, paper)

    def rebuild(self) -> tuple[int, list[str]]:
        """Rebuilds all derived files with the configured embedding model. Returns the new generation's number, and a
        list of one-line notes.

        If `CURRENT` or the manifest cannot be read, each paper's newest bundle is used. The notes then say that the
        newest bundles were used, and list all unusable files. Raises `StoreError` if there is no graph, and the same
        errors as `publish`."""
        self._require_content("rebuild")
        notes: list[str] = []
        with self._generations.writing(repair=notes) as current:
            known: dict[str, BundleFile] = {}
            decided = measured = None
            if current.generation:
                try:
                    manifest = generation.read_manifest(self.folder, current.generation, current.manifest_sha256)
                    known = dict(manifest.bundles)
                    decided, measured = manifest.decisions, manifest.ablations
                except CorruptStoreError as error:
                    notes.append(str(error).partition(": ")[0])
                    current = Current(highest=current.highest)
            if notes:
                notes.append("the newest bundle of each paper was used; recently removed papers may have reappeared")
                newest, problems = bundles.newest(self._generations.bundles)
                notes += problems
                known = {bundle.paper.id: bundles.write(self._generations.bundles, bundle) for bundle in newest}
            decided, lost = decisions.readable(self.folder, decided)
            measured, gone = ablations.readable(self.folder, measured)
            return self._build(current, None, known, decided, measured), [*notes, *lost, *gone]

    def check(self) -> list[str]:
        """Checks the stored graph. Returns any problems, one line each. Reads all files in full."""
        from xkg.store.local.integrity import problems

        return problems(self.folder, self._model)

    def bundles(self) -> Iterator[PaperBundle]:
        """Yields all bundles in id order. Raises `CorruptStoreError` when a damaged bundle is reached. The remaining
        bundles can still be read by id."""
        with self.snapshot() as snapshot:
            for paper in snapshot.papers():
                yield snapshot.bundle(paper.id)

    def decisions(self) -> Sequence[Decision]:
        """Returns all decisions about pairs of techniques. Raises `CorruptStoreError` if the file is damaged."""
        with self._generations.opened() as opened:
            return tuple(decisions.read(self.folder, opened.manifest.decisions).values()) if opened else ()

    def query(
        self, statement: str, parameters: Mapping[str, Any] | None = None, *, rows: int = 1000, seconds: float = 10
    ) -> Table:
        """Checks a statement with the guard and runs it in a process without file access. Raises `QueryRefusedError` if
        the statement is not allowed, and `QueryFailedError` if it fails."""
        checked = guard(statement, parameters)
        with self.snapshot() as snapshot:
            table = snapshot.queries().run(for_ladybug(checked), parameters, rows=rows, seconds=seconds)
        return table.model_copy(update={"columns": heads(checked, table.columns)})

    def warm_queries(self) -> None:
        """Starts the process that runs queries. Raises `QueryFailedError` if the process cannot be started."""
        with self.snapshot() as snapshot:
            snapshot.queries().start()

    def close(self) -> None:
        """Closes the open generation. The store can still be used."""
        self._generations.close()

    def _require_content(self, purpose: str) -> None:
        if not any((self.folder / name).exists() for name in ("CURRENT", "bundles", "generations")):
            generation.read_current(self.folder)
            raise StoreError(
                f"{self.folder} has no graph yet, so there is nothing to {purpose}; build or import a paper first"
            )

    def _build_changed(self, current: Current, opened: Generation | None, known: Mapping[str, BundleFile]) -> int:
        if known == (opened.manifest.bundles if opened else {}):
            return current.generation
        return self._build(current, opened, known)

    def _build(
        self,
        current: Current,
        opened: Generation | None,
        known: Mapping[str, BundleFile],
        decided: str | None = None,
        measured: str | None = None,
    ) -> int:
        """Builds and publishes a generation. `decided` is the name of the file with decisions, and `measured` the name
        of the file with ablations. If `decided` or `measured` is None, the generation keeps the file that `opened`
        uses."""
        if decided is None:
            decided = opened.manifest.decisions if opened else ""
        if measured is None:
            measured = opened.manifest.ablations if opened else ""
        return self._generations.publish(
            current,
            lambda folder: self._files(folder, opened, known, decided, measured),
            known,
            decided,
            measured=measured,
            earlier=opened,
        )

    def _files(
        self, folder: Path, opened: Generation | None, known: Mapping[str, BundleFile], decided: str, measured: str
    ) -> Built:
        """Fills the empty `folder` with the files derived from the bundles in `known`. If little has changed, updates a
        copy of the files in `opened`. Raises `CorruptStoreError` if a bundle is damaged, and the same errors as
        `build_files`."""
        from xkg.store.local.build_files import add_citations, add_graph, build_files, reusable

        settled = decisions.read(self.folder, decided)
        rows = self.folder / graph_rows.FOLDER
        rows.mkdir(exist_ok=True)
        start = reusable(self.folder, opened, known)
        built = build_files(
            self.folder, folder, known, settled, self._embedder_of, start=start, previous=opened, rows=rows
        )
        measurements = ablations.read(self.folder, measured).values()
        add_graph(self.folder, folder, rows, known, add_citations(folder), measurements)
        return built

    def _embedder_of(self, stored_model: str) -> Embedder:
        embedder = self._embedder()
        require_model(stored_model, embedder.model)
        return embedder
