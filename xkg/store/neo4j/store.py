"""Stores a graph that a team shares on a Neo4j server (`Neo4jStore`).

Commits are serialised by the graph's counter. Readers on this machine use a local copy with its own indexes, which is
kept up to date."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import neo4j

from xkg.config import Settings
from xkg.embeddings.base import Embedder
from xkg.errors import StoreError, UnknownIdError
from xkg.model import Ablation, PaperBundle
from xkg.store import bundles
from xkg.store.change_feed import Changes, Position
from xkg.store.graph_store import Decision, Recognise, Snapshot, Table
from xkg.store.local.replica import Replica
from xkg.store.neo4j import cross_paper_edges, earlier_states, leases, read, write
from xkg.store.neo4j.db import migrations
from xkg.store.neo4j.db.connection import Connection
from xkg.store.rows import key

_LARGEST_COMMIT = 16 << 20
"""Maximum total size in bytes of the bundles in a transaction, which the server keeps in memory until the commit."""


class Neo4jStore:
    """Implements `xkg.store.graph_store.GraphStore` and `xkg.store.change_feed.Feed` for the configured Neo4j server.

    Nothing is read on opening. `close` adds `CITES` and `SAME_CONCEPT` edges for the papers that were written, so that
    a batch adds edges only once. If `connect` is false, no edges are added. Thread-safe, and safe to use in forked
    processes."""

    def __init__(
        self,
        settings: Settings,
        embedder: Callable[[], Embedder],
        *,
        background: bool = False,
        connect: bool = True,
    ) -> None:
        self._settings = settings
        self._model = settings.embedding.vectors
        self.connection = Connection(settings.store)
        self.place = self.connection.address
        self._embedder = embedder
        self._background = background
        self._connects = connect
        self._turn = threading.RLock()
        self._copy: Replica | None = None
        self._written = False
        self._prepared: migrations.State | None = None

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Updates the copy of the graph on this machine, and returns a snapshot of it. Raises the same errors as
        `Replica.snapshot`."""
        return self._replica().snapshot()

    def lease(self, paper: str, holder: str) -> AbstractContextManager[int]:
        """Holds a lease (`leases.held`). Creates the graph if there is none."""
        self._prepare()
        return leases.held(self.connection, paper, holder)

    def counter(self) -> int:
        return self.position().counter

    def publish(
        self, new: Iterable[PaperBundle], fences: Mapping[str, int] | None = None, recognise: Recognise | None = None
    ) -> int:
        """Adds or replaces papers. Returns the number of the commit, or of the last commit if nothing changed. A batch
        that is too large for one transaction is split between papers.

        Raises the same errors as `Connection`, anything that `recognise.check` raises, and one of these errors:

        - `InputError` if a bundle is inconsistent
        - `LeaseLostError` if another machine has taken the lease on a paper since its fence in `fences` was issued
        - `ModelMismatchError` if the graph is linked with a different model
        - `SchemaVersionError` if the schema is outdated or too new"""
        self._prepare()
        done = [self._replace(part, (), fences or {}, recognise) for part in _parts(new)]
        return done[-1] if done else self.position().counter

    def revise(self, papers: Sequence[str], change: Callable[[PaperBundle], PaperBundle]) -> int:
        """Replaces each of these papers with `change(bundle)` under the write lock. Deleted papers are skipped. Raises
        the same errors as `publish`."""
        keys = [key(paper) for paper in dict.fromkeys(papers)]
        changed: dict[str, tuple[PaperBundle, PaperBundle]] = {}
        self._prepare()

        def work(transaction: neo4j.ManagedTransaction, state: migrations.State) -> None:
            revised = []
            for paper_key, bundle in read.read_locked(transaction, keys).items():
                # Call `change` only once per bundle: it may have side effects, and the transaction may be retried.
                if paper_key not in changed or changed[paper_key][0] != bundle:
                    changed[paper_key] = (bundle, change(bundle))
                bundles.validate(changed[paper_key][1])
                if changed[paper_key][1] != bundle:
                    revised.append(changed[paper_key][1])
            if not revised:
                raise _Unchanged(state.generation - 1)
            write.replace(transaction, state, revised, (), self._model)

        return self._commit(work)

    def decide(self, new: Iterable[Decision]) -> int:
        """Adds or replaces decisions about pairs of techniques, and updates the edges. Raises the same errors as
        `publish`."""
        decisions = list({decision.key: decision for decision in new}.values())
        self._prepare()
        if self.position().counter == 0:
            return 0
        self._commit(lambda transaction, state: write.decide(transaction, state, decisions))
        return self._connect()

    def add_ablations(self, new: Iterable[Ablation]) -> int:
        """Adds measurements, replacing any with the same ids. Raises the same errors as `publish`."""
        ablations = list({ablation.id: ablation for ablation in new}.values())
        self._prepare()
        if not ablations or self.position().counter == 0:
            return self.position().counter
        return self._commit(lambda transaction, state: write.add_ablations(transaction, state, ablations))

    def ablations(self, techniques: Sequence[str] | None = None) -> Sequence[Ablation]:
        return read.ablations(self.connection, techniques)

    def require_writable(self) -> None:
        """Raises the errors that `publish` would raise for any paper. Creates the schema in an empty database."""
        self._prepare()

    def connect(self) -> None:
        """Adds `CITES` and `SAME_CONCEPT` edges for all commits. Raises the same errors as `publish`."""
        self._connect()

    def _connect(self) -> int:
        with closing(self._make_replica()) if self._background else nullcontext(self._replica()) as copy:
            generation = cross_paper_edges.connect(self.connection, copy.snapshot)
        self._written = False
        return generation

    def remove(self, papers: Sequence[str]) -> int:
        """Removes papers in one step and returns the number of the commit. Raises `UnknownIdError` if a paper is
        unknown, and the same errors as `publish`."""
        self._prepare()
        known = {paper for paper, _ in read.papers(self.connection)}
        for paper in papers:
            if paper not in known:
                with self.snapshot() as snapshot:
                    snapshot.require_paper(paper)
                raise UnknownIdError(f"paper {paper!a} was removed by another process in the meantime")
        return self._replace((), papers)

    def rollback(self) -> int:
        """Always raises `StoreError`, because papers are replaced one by one, often by several machines."""
        raise StoreError(
            f"the Neo4j server at {self.place} has no generation to roll back to; restore a backup of the database, "
            "or build or import the paper again"
        )

    def differences(
        self, first: int | None, second: int | None
    ) -> Iterator[tuple[PaperBundle | None, PaperBundle | None]]:
        """Yields the differences between two commits, if their states are still available (see `earlier_states`)."""
        self.position()
        return earlier_states.differences(self.connection, first, second)

    def rebuild(self) -> tuple[int, list[str]]:
        """Recomputes the links between all papers with the configured embedding model, and causes all copies of the
        graph to be rebuilt. Returns the number of the commit, and a list of one-line notes."""
        self._prepare()
        self._commit(lambda transaction, state: write.renew(transaction, state, self._model))
        return self._connect(), []

    def check(self) -> list[str]:
        """Checks the graph. Returns any problems, one line each. Reads all papers in full."""
        from xkg.store.neo4j.integrity import problems

        return problems(self.connection, self._model)

    def query(
        self, statement: str, parameters: Mapping[str, Any] | None = None, *, rows: int = 1000, seconds: float = 10
    ) -> Table:
        """Checks a statement with the guard and runs it. Raises `QueryRefusedError` if the statement is not allowed,
        and `QueryFailedError` if it fails."""
        from xkg.store.neo4j.queries import read

        with self.connection.explaining():
            return read(
                self.connection.driver,
                self._settings.store.database,
                statement,
                parameters,
                rows=rows,
                seconds=seconds,
            )

    def warm_queries(self) -> None:
        """Connects to the server. Raises `StoreUnreachableError` if the server cannot be reached."""
        _ = self.connection.driver

    def decisions(self) -> Sequence[Decision]:
        return read.all_decisions(self.connection)

    def bundles(self) -> Iterator[PaperBundle]:
        """Yields all bundles in id order. Raises `CorruptStoreError` if a paper is damaged."""
        keys = [paper_key for _, paper_key in sorted(read.papers(self.connection))]
        return (stored.bundle for stored in read.read(self.connection, keys))

    def position(self) -> Position:
        return read.position(self.connection)

    def changes(self, since: Position | None) -> Changes:
        return read.changes(self.connection, since)

    def close(self) -> None:
        """Adds edges for the papers that were written, and disconnects. The store can still be used. Raises the same
        errors as `connect`, but the papers are stored even if an error is raised."""
        try:
            if self._written and self._connects:
                self.connect()
        finally:
            self._written, self._prepared = False, None
            with self._turn:
                copy, self._copy = self._copy, None
            if copy is not None:
                copy.close()
            self.connection.close()

    def _replica(self) -> Replica:
        with self._turn:
            if self._copy is None:
                self._copy = self._make_replica(background=self._background)
            return self._copy

    def _make_replica(self, *, background: bool = False) -> Replica:
        folder = self._settings.kg / "replica"
        return Replica(folder, self, self._embedder, model=self._model, background=background)

    def _prepare(self) -> migrations.State:
        """Returns the graph's state before the first write. Creates the graph if there is none."""
        if self._prepared is None:
            self._prepared = migrations.prepare(self.connection)
        return self._prepared

    def _replace(
        self,
        new: Sequence[PaperBundle],
        removed: Sequence[str],
        fences: Mapping[str, int] | None = None,
        recognise: Recognise | None = None,
    ) -> int:
        own = {bundle.paper.id: fences[bundle.paper.id] for bundle in new if fences and bundle.paper.id in fences}

        def work(transaction: neo4j.ManagedTransaction, state: migrations.State) -> None:
            if own:
                leases.require(transaction, own)
            if recognise is not None and state.generation - 1 > recognise.since:
                others = read.published_since(transaction, recognise.since, [bundle.paper.id for bundle in new])
                for bundle, papers in zip(new, others, strict=True):
                    recognise.check(bundle, papers)
            if not write.replace(transaction, state, new, removed, self._model):
                raise _Unchanged(state.generation - 1)

        return self._commit(work)

    def _commit(self, work: Callable[[neo4j.ManagedTransaction, migrations.State], None]) -> int:
        """Runs `work` in a write transaction and returns the number of the commit. If `work` raises `_Unchanged`,
        commits nothing and returns the number of the last commit."""

        def counted(transaction: neo4j.ManagedTransaction) -> int:
            state = migrations.require_schema(write.begin(transaction), self.connection)
            work(transaction, state)
            return state.generation

        try:
            generation = self.connection.write(counted)
        except _Unchanged as unchanged:
            generation = unchanged.generation
        self._written = True  # set even if nothing changed, because an earlier writer may have died before adding edges
        return generation


class _Unchanged(Exception):
    """Raised if a write would leave the graph as it is at the commit `generation`. Nothing is committed."""

    def __init__(self, generation: int) -> None:
        super().__init__(generation)
        self.generation = generation


def _parts(new: Iterable[PaperBundle]) -> Iterator[list[PaperBundle]]:
    """Groups papers into parts that fit into one transaction. Raises `InputError` if a paper is inconsistent, and
    `StoreError` if a paper is repeated."""
    part: list[PaperBundle] = []
    known, size = set[str](), 0
    for bundle in new:
        bundles.validate(bundle)
        if bundle.paper.id in known:
            raise StoreError("a paper was passed twice; pass each paper once")
        known.add(bundle.paper.id)
        own = len(bundles.serialise(bundle))
        if part and size + own > _LARGEST_COMMIT:
            yield part
            part, size = [], 0
        part.append(bundle)
        size += own
    if part:
        yield part
