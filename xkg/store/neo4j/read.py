"""Reads papers and changes from the graph.

Neo4j shows a commit to readers piece by piece (read committed), so a paper is read again until its properties are of
one commit."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import neo4j

from xkg.errors import CorruptStoreError
from xkg.model import Ablation, Paper, PaperBundle
from xkg.store import bundles as files
from xkg.store.change_feed import Changes, Position
from xkg.store.graph_store import Decision
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.index_hints import seek
from xkg.store.neo4j.db.migrations import State, read_state, require_schema
from xkg.store.neo4j.packed_bundles import Stored, unpack
from xkg.store.rows import key

BATCH = 50
"""Papers read together in two round trips: some megabytes."""
# A commit becomes visible within milliseconds, on a busy server within some tenths of a second.
_PAUSES = (0.02, 0.1, 0.1, 0.2, 0.4, 0.8)

_BUNDLES = (
    f"UNWIND $keys AS id {seek('b', 'XkgBundle', 'id')} RETURN id, b.removed AS removed, b.paper AS paper, "
    "b.generation AS generation, b.bundle AS bundle"
)
_WRITTEN = f"UNWIND $keys AS id {seek('b', 'XkgBundle', 'id')} WHERE NOT b.removed RETURN id, b.sha256 AS sha256"
_CHANGED = (
    "MATCH (b:XkgBundle) WHERE b.generation > $since "
    "RETURN b.id AS id, b.paper AS paper, b.generation AS generation, b.removed AS removed"
)
_DECIDED = "MATCH (d:XkgDecision) WHERE d.generation > $since RETURN d.generation AS generation, d.said AS said"
_NEWEST = "MATCH (m:XkgMeta {id: 'graph'}) RETURN m.newest AS newest"


_HEADS = (
    "MATCH (b:XkgBundle) WHERE b.generation > $since AND NOT b.removed MATCH (p:Paper {id: b.id}) "
    "RETURN b.paper AS paper, p.title AS title, p.authors AS authors, p.arxiv_id AS arxiv_id, "
    "p.arxiv_version AS arxiv_version, p.origin AS origin"
)
_HEAD_FIELDS = ("title", "authors", "arxiv_id", "arxiv_version", "origin")
_STORED = f"UNWIND $keys AS id {seek('p', 'Paper', 'id')} RETURN id"


Seen = Stored | CorruptStoreError | None


def position(connection: Connection) -> Position:
    """The graph's position, empty if the database holds no graph. One round trip."""
    state = require_schema(connection.read(read_state), connection)
    return Position(state.graph, state.generation)


def papers(connection: Connection) -> list[tuple[str, str]]:
    """The id and the key of every paper, by key."""
    statement = "MATCH (b:XkgBundle) WHERE NOT b.removed RETURN b.paper AS paper, b.id AS id ORDER BY id"
    rows = connection.read(lambda transaction: transaction.run(statement).values("paper", "id"))
    return [(json.loads(paper), paper_key) for paper, paper_key in rows]


def read(connection: Connection, keys: Sequence[str], *, known: bool = False) -> Iterator[Stored]:
    """The papers with these keys, in order; missing ones are omitted, after a short wait if they are `known` to exist.
    Raises `CorruptStoreError` for data that is not a valid bundle."""
    for start in range(0, len(keys), BATCH):
        part = keys[start : start + BATCH]
        settled: dict[str, Stored | None] = {}
        for pause in (*_PAUSES, None):
            waiting = [paper_key for paper_key in part if paper_key not in settled]
            for paper_key, seen in connection.read(lambda tx, keys=waiting: _look(tx, keys)).items():  # type: ignore[misc]
                if not isinstance(seen, CorruptStoreError):
                    settled[paper_key] = seen
                elif pause is None:
                    raise seen
                waiting.remove(paper_key)
            if not known or pause is None:
                settled |= dict.fromkeys(waiting)
            if len(settled) == len(part):
                break
            if pause is not None:
                time.sleep(pause)
        yield from (stored for paper_key in part if (stored := settled[paper_key]) is not None)


def read_locked(transaction: neo4j.ManagedTransaction, keys: Sequence[str]) -> dict[str, Stored]:
    """The papers with these keys, by key, in a transaction that holds the write lock. Raises the same errors as
    `read`."""
    result = {}
    for paper_key, stored in _look(transaction, keys).items():
        if isinstance(stored, CorruptStoreError):
            raise stored
        if stored is not None:
            result[paper_key] = stored
    return result


def published_since(transaction: neo4j.ManagedTransaction, since: int, papers: Sequence[str]) -> list[list[Paper]]:
    """For each of these ids, the graph's papers written after the commit `since`, without their texts; empty for an id
    that the graph has."""
    known = {record["id"] for record in transaction.run(_STORED, keys=[key(paper) for paper in papers])}
    heads = [
        Paper(id=json.loads(record["paper"]), **{name: record[name] for name in _HEAD_FIELDS})
        for record in transaction.run(_HEADS, since=since)
    ]
    return [[] if key(paper) in known else heads for paper in papers]


def changed(transaction: neo4j.ManagedTransaction, new: Sequence[PaperBundle]) -> list[PaperBundle]:
    """The given papers that differ from the graph's, in a transaction that holds the write lock."""
    keys = {key(bundle.paper.id): bundle for bundle in new}
    written = dict(transaction.run(_WRITTEN, keys=list(keys)).values("id", "sha256"))
    return [bundle for paper_key, bundle in keys.items() if written.get(paper_key) != files.sha256(bundle)]


def _look(transaction: neo4j.ManagedTransaction, keys: Sequence[str]) -> dict[str, Seen]:
    """The visible state of these papers, by key: None for a removed one, an error for one that is damaged or of two
    commits."""
    found: dict[str, Seen] = {}
    for record in transaction.run(_BUNDLES, keys=list(keys)):
        try:
            stored = (
                None if record["removed"] else unpack(record["bundle"], json.loads(record["paper"] or "null") or "")
            )
            found[record["id"]] = stored
            if stored is not None and stored.generation != record["generation"]:
                found[record["id"]] = CorruptStoreError(
                    f"paper {stored.bundle.paper.id!a} is of two commits: build or import it again"
                )
        except CorruptStoreError as error:
            found[record["id"]] = error
    return found


def changes(connection: Connection, since: Position | None) -> Changes:
    """The changes since a position (`xkg.store.change_feed.Feed`)."""
    state, rows, decided = _seen(connection, since)
    to = Position(state.graph, state.generation)
    whole = _is_whole(state, since)
    upserts = [row["id"] for row in rows if not row["removed"]]
    removed = frozenset() if whole else frozenset(json.loads(row["paper"]) for row in rows if row["removed"])
    return Changes(
        to=to,
        whole=whole,
        bundles=(stored.bundle for stored in read(connection, sorted(upserts), known=True)),
        removed=removed,
        decisions=all_decisions(connection) if decided else () if whole else None,
    )


def all_decisions(connection: Connection) -> tuple[Decision, ...]:
    for pause in (*_PAUSES, 0):
        rows = connection.read(lambda transaction: transaction.run(_DECIDED, since=-1).value("said"))
        if None not in rows:
            break
        time.sleep(pause)
    found = (Decision.model_validate(json.loads(decision)) for decision in rows)
    return tuple(sorted(found, key=lambda decision: decision.key))


def ablations(connection: Connection, techniques: Sequence[str] | None) -> tuple[Ablation, ...]:
    """Measurements of these techniques (None: all), in id order."""
    keys = None if techniques is None else [key(technique) for technique in techniques]
    wanted = "" if keys is None else "WHERE a.technique IN $keys "
    statement = f"MATCH (a:Ablation) {wanted}RETURN properties(a) AS found ORDER BY a.id"
    rows = connection.read(lambda transaction: transaction.run(statement, keys=keys).value("found"))
    return tuple(Ablation.model_validate(row) for row in rows)


def _seen(connection: Connection, since: Position | None) -> tuple[State, list[dict[str, Any]], list[int]]:
    """The state, the changed papers, the commits of changed decisions, and everything of the newest commit."""

    def look(transaction: neo4j.ManagedTransaction) -> tuple[State, list[dict[str, Any]], list[int], str]:
        state = require_schema(read_state(transaction), connection)
        begin = -1 if since is None or _is_whole(state, since) else since.counter
        newest = transaction.run(_NEWEST).value("newest")
        rows = transaction.run(_CHANGED, since=begin).data()
        decided = transaction.run(_DECIDED, since=begin).value("generation")
        return state, rows, decided, str(newest[0]) if newest else ""

    for pause in (*_PAUSES, 0):
        state, rows, decided, newest = connection.read(look)
        number, _, count = newest.partition(":")
        of_newest = [row["generation"] for row in rows] + decided
        if state.generation == 0 or (since is not None and since == (state.graph, state.generation)):
            break
        whole = all(row["paper"] is not None and row["removed"] is not None for row in rows)
        if whole and number == str(state.generation) and of_newest.count(state.generation) == int(count):
            break
        time.sleep(pause)
    return state, rows, decided


def _is_whole(state: State, since: Position | None) -> bool:
    return (
        since is None
        or since.graph != state.graph
        or since.counter < state.forgotten
        or since.counter > state.generation  # the graph was restored from a backup
    )
