"""Reads papers and changes from the graph.

Neo4j's isolation level is read committed, so readers may see only part of a commit. A paper is therefore reread until
its properties belong to the same commit."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import neo4j

from xkg.errors import CorruptStoreError
from xkg.model import Ablation, Paper, PaperBundle
from xkg.store.change_feed import Changes, Position
from xkg.store.graph_store import Decision
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.index_hints import seek
from xkg.store.neo4j.db.migrations import State, read_state, require_schema
from xkg.store.neo4j.stored_bundles import Stored, unpack
from xkg.store.rows import key

BATCH = 50
"""Number of papers to read in one round trip, which amounts to a few megabytes."""
# A commit becomes visible within milliseconds, or within a few tenths of a second on a busy server.
_PAUSES = (0.02, 0.1, 0.1, 0.2, 0.4, 0.8)

_BUNDLES = (
    f"UNWIND $keys AS id {seek('b', 'XkgBundle', 'id')} RETURN id, b.removed AS removed, b.paper AS paper, "
    "b.generation AS generation, b.bundle AS bundle"
)
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
    """Returns the graph's position in one round trip. The position is empty if there is no graph."""
    state = require_schema(connection.read(read_state), connection)
    return Position(state.graph, state.generation)


def papers(connection: Connection) -> list[tuple[str, str]]:
    """Returns the id and key of every paper, ordered by key."""
    statement = "MATCH (b:XkgBundle) WHERE NOT b.removed RETURN b.paper AS paper, b.id AS id ORDER BY id"
    rows = connection.read(lambda transaction: transaction.run(statement).values("paper", "id"))
    return [(json.loads(paper), paper_key) for paper, paper_key in rows]


def read(connection: Connection, keys: Sequence[str], *, known: bool = False) -> Iterator[Stored]:
    """Yields the papers with these keys, in order. Missing papers are omitted. If a missing paper is `known` to exist,
    waits briefly for the paper before omitting it. Raises `CorruptStoreError` if a paper is damaged."""
    for start in range(0, len(keys), BATCH):
        part = keys[start : start + BATCH]
        complete = _complete(connection, part, known=known)
        yield from (stored for paper_key in part if (stored := complete.get(paper_key)) is not None)


def _complete(connection: Connection, keys: Sequence[str], *, known: bool) -> dict[str, Stored | None]:
    """Rereads papers until all of them are complete."""
    complete: dict[str, Stored | None] = {}
    waiting = list(keys)
    for pause in (*_PAUSES, None):
        seen = connection.read(lambda transaction, keys=waiting: look(transaction, keys))  # type: ignore[misc]
        for paper_key, found in seen.items():
            if not isinstance(found, CorruptStoreError):
                complete[paper_key] = found
            elif pause is None:
                raise found
        waiting = [paper_key for paper_key in waiting if paper_key not in complete and (known or paper_key in seen)]
        if not waiting or pause is None:
            break
        time.sleep(pause)
    return complete


def read_locked(transaction: neo4j.ManagedTransaction, keys: Sequence[str]) -> dict[str, PaperBundle]:
    """Reads the papers with these keys in a transaction that holds the write lock. Raises the same errors as `read`."""
    result = {}
    for paper_key, found in look(transaction, keys).items():
        if isinstance(found, CorruptStoreError):
            raise found
        if found is not None:
            result[paper_key] = found.bundle
    return result


def published_since(transaction: neo4j.ManagedTransaction, since: int, papers: Sequence[str]) -> list[list[Paper]]:
    """Returns a list of papers (without their texts) for each of these ids. If the id is already in the graph, the list
    is empty. Otherwise, it contains the papers written to the graph after the commit `since`."""
    known = {record["id"] for record in transaction.run(_STORED, keys=[key(paper) for paper in papers])}
    heads = [
        Paper(id=json.loads(record["paper"]), **{name: record[name] for name in _HEAD_FIELDS})
        for record in transaction.run(_HEADS, since=since)
    ]
    return [[] if key(paper) in known else heads for paper in papers]


def look(transaction: neo4j.ManagedTransaction, keys: Sequence[str]) -> dict[str, Seen]:
    """Returns the currently visible state of these papers, keyed by key: None for a removed paper, and an error for a
    paper that is damaged or only partly visible."""
    found: dict[str, Seen] = {}
    for record in transaction.run(_BUNDLES, keys=list(keys)):
        paper = json.loads(record["paper"] or '""')
        try:
            stored = None if record["removed"] else unpack(record["bundle"], paper)
            if stored is not None and stored.generation != record["generation"]:
                raise CorruptStoreError(f"paper {paper!a} belongs to two commits; build or import the paper again")
            found[record["id"]] = stored
        except CorruptStoreError as error:
            found[record["id"]] = error
    return found


def changes(connection: Connection, since: Position | None) -> Changes:
    """Returns the changes since a position (`xkg.store.change_feed.Feed`)."""
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
    """Returns the measurements of these techniques, or of all techniques if None, in id order."""
    keys = None if techniques is None else [key(technique) for technique in techniques]
    wanted = "" if keys is None else "WHERE a.technique IN $keys "
    statement = f"MATCH (a:Ablation) {wanted}RETURN properties(a) AS found ORDER BY a.id"
    rows = connection.read(lambda transaction: transaction.run(statement, keys=keys).value("found"))
    return tuple(Ablation.model_validate(row) for row in rows)


def _seen(connection: Connection, since: Position | None) -> tuple[State, list[dict[str, Any]], list[int]]:
    """Waits until the newest commit is fully visible. Returns the state, the changed papers, and the commits of changed
    decisions."""

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
