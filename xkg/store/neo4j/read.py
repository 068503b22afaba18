"""Reads papers and changes from the graph.

Neo4j's isolation level is read committed, so readers may see only part of a commit. A paper is therefore read again
until it matches the commit number and hash of its bundle. A difference that persists means that the graph was changed
by hand."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import neo4j

from xkg.errors import CorruptStoreError
from xkg.model import Ablation, Paper, PaperBundle
from xkg.store import bundles as files
from xkg.store.change_feed import Changes, Position
from xkg.store.graph_store import Decision
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.index_hints import seek
from xkg.store.neo4j.db.migrations import State, read_state, require_schema
from xkg.store.neo4j.lossless_extras import Parts, Rest, unpack
from xkg.store.rows import key

BATCH = 50
"""Number of papers (a few megabytes) to read in two round trips."""
# A commit becomes visible within milliseconds, or within a few tenths of a second on a busy server.
_PAUSES = (0.02, 0.1, 0.1, 0.2, 0.4, 0.8)
_LONG_PAUSE = 0.1

_BUNDLES = (
    f"UNWIND $keys AS id {seek('b', 'XkgBundle', 'id')} RETURN id, b.removed AS removed, b.paper AS paper, "
    "b.generation AS generation, b.sha256 AS sha256, b.rest AS rest"
)
_NODES = ("Paper", "Technique", "Code", "Finding", "Resource")
_PLACES = {"LOCATED_AT": "Technique", "DERIVED_FROM": "Code"}
# The server should use the same query plan for lists of any length, as in `write`.
# Use one record per kind, because the driver is slow with thousands of small records.
_PARTS = "CYPHER replan=skip\n" + "\nUNION ALL ".join(
    [
        f"UNWIND $all.{label} AS id {seek('n', label, 'id')} RETURN '{label}' AS kind, "
        "collect([id, '', properties(n)]) AS found"
        for label in _NODES
    ]
    + [
        f"UNWIND $all.{label} AS id {seek('n', label, 'id', f'-[e:{edge}]->(s:Symbol)')} "
        f"RETURN '{edge}' AS kind, collect([id, s.id, properties(e)]) AS found"
        for edge, label in _PLACES.items()
    ]
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


class Stored(NamedTuple):
    """A paper read from the graph. `sha256` is the hash of the bundle that was written. If the graph was changed by
    hand afterwards, the hash of `bundle` is different."""

    bundle: PaperBundle
    sha256: str
    generation: int

    @property
    def as_written(self) -> bool:
        return files.sha256(self.bundle) == self.sha256


Seen = Stored | CorruptStoreError | None


def position(connection: Connection) -> Position:
    """Returns the graph's position. This takes one round trip. The position is empty if there is no graph."""
    state = require_schema(connection.read(read_state), connection)
    return Position(state.graph, state.generation)


def papers(connection: Connection) -> list[tuple[str, str]]:
    """Returns the id and key of every paper, ordered by key."""
    statement = "MATCH (b:XkgBundle) WHERE NOT b.removed RETURN b.paper AS paper, b.id AS id ORDER BY id"
    rows = connection.read(lambda transaction: transaction.run(statement).values("paper", "id"))
    return [(json.loads(paper), paper_key) for paper, paper_key in rows]


def read(connection: Connection, keys: Sequence[str], *, known: bool = False) -> Iterator[Stored]:
    """Yields the papers with these keys, in order. Missing papers are omitted. If a missing paper is `known` to exist,
    waits briefly before omitting it. Raises `CorruptStoreError` if a paper is not a valid bundle."""
    for start in range(0, len(keys), BATCH):
        part = keys[start : start + BATCH]
        settled = _settled(connection, part, known=known)
        yield from (settled[paper_key] for paper_key in part if paper_key in settled)


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
    """For each of these ids, returns a list of papers (without their texts). The list is empty if the paper is already
    in the graph. Otherwise, the list contains the papers written to the graph after the commit `since`."""
    known = {record["id"] for record in transaction.run(_STORED, keys=[key(paper) for paper in papers])}
    heads = [
        Paper(id=json.loads(record["paper"]), **{name: record[name] for name in _HEAD_FIELDS})
        for record in transaction.run(_HEADS, since=since)
    ]
    return [[] if key(paper) in known else heads for paper in papers]


def look(transaction: neo4j.ManagedTransaction, keys: Sequence[str]) -> dict[str, Seen]:
    """Returns the currently visible state of these papers, keyed by key. The state is None for a removed paper. The
    state is an error if the paper is not a valid bundle, possibly because only part of a commit is visible."""
    found: dict[str, Seen] = {}
    rests: dict[str, tuple[Rest, str, int]] = {}
    for record in transaction.run(_BUNDLES, keys=list(keys)):
        paper_key = record["id"]
        if record["removed"]:
            found[paper_key] = None
            continue
        try:
            rests[paper_key] = (unpack(bytes(record["rest"])), record["sha256"], record["generation"])
        except (ValueError, TypeError) as error:
            paper = json.loads(record["paper"] or "null")
            damaged = CorruptStoreError(
                f"the extra data stored for paper {paper!a} has changed since it was written; build or import it "
                "again, or remove it with `xkg remove`"
            )
            damaged.__cause__ = error
            found[paper_key] = damaged
    keys_by_label = {label: [node for rest, _, _ in rests.values() for node in rest.keys[label]] for label in _NODES}
    parts = Parts({label: {} for label in _NODES}, {edge: {} for edge in _PLACES})
    if rests:
        for kind, seen in transaction.run(_PARTS, all=keys_by_label):
            for node, to, properties in seen:
                if kind in parts.nodes:
                    parts.nodes[kind][node] = properties
                else:
                    parts.edges[kind].setdefault((node, to), []).append(properties)
    for paper_key, (rest, sha256, generation) in rests.items():
        try:
            # If the commit numbers differ, only part of a commit is visible.
            found[paper_key] = Stored(rest.bundle(parts), sha256 if rest.generation == generation else "", generation)
        except CorruptStoreError as error:
            found[paper_key] = error
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


def _settled(connection: Connection, keys: Sequence[str], *, known: bool) -> dict[str, Stored]:
    """Rereads papers until they match their hashes, or until two reads with a pause in between return the same
    papers."""
    settled: dict[str, Stored] = {}
    before: dict[str, Seen] = {}
    waiting = list(keys)
    for pause in (*_PAUSES, None):
        found = connection.read(lambda transaction, keys=waiting: look(transaction, keys))  # type: ignore[misc]
        for paper_key, stored in found.items():
            if isinstance(stored, CorruptStoreError):
                if pause is None:
                    raise stored
            elif stored is not None and (
                stored.as_written
                or pause is None
                or (pause >= _LONG_PAUSE and stored.sha256 and before.get(paper_key) == stored)
            ):
                settled[paper_key] = stored
        missing = {
            paper_key for paper_key in waiting if (found[paper_key] is None if paper_key in found else not known)
        }
        waiting = [paper_key for paper_key in waiting if paper_key not in settled and paper_key not in missing]
        if not waiting or pause is None:
            break
        before = found
        time.sleep(pause)
    return settled
