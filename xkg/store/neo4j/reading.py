"""Papers out of the graph, and what changed in it.

Neo4j shows a commit to readers piece by piece (read committed), so what was read is compared with the commit and the
hash that its bundle carries, and read again where it is not whole. A difference that stays was made by hand.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import neo4j

from xkg.errors import CorruptStoreError
from xkg.model import PaperBundle
from xkg.store import bundles as files
from xkg.store.decisions import Decision
from xkg.store.feed import Changes, Position
from xkg.store.neo4j.connection import Connection
from xkg.store.neo4j.migrations import State, read_state, require_schema
from xkg.store.neo4j.rest import Parts, Rest, unpack
from xkg.store.rows import key

BATCH = 50
"""Papers that are read together: two round trips each, and some megabytes."""
_ATTEMPTS = 6
_PAUSE_SECONDS = 0.02

_BUNDLES = (
    "UNWIND $keys AS id MATCH (b:Bundle {id: id}) WHERE NOT b.removed "
    "RETURN id, b.paper AS paper, b.generation AS generation, b.sha256 AS sha256, b.rest AS rest"
)
_NODES = ("Paper", "Technique", "Code", "Finding", "Resource")
_PLACES = {"LOCATED_AT": "Technique", "DERIVED_FROM": "Code"}
# As in `writing`: one plan, whatever the sizes.
_PARTS = "CYPHER replan=skip\n" + "\nUNION ALL ".join(
    [
        f"UNWIND $all.{label} AS id MATCH (n:{label} {{id: id}}) RETURN '{label}' AS kind, id, '' AS to, "
        "properties(n) AS said"
        for label in _NODES
    ]
    + [
        f"UNWIND $all.{label} AS id MATCH (:{label} {{id: id}})-[e:{edge}]->(s:Symbol) "
        f"RETURN '{edge}' AS kind, id, s.id AS to, properties(e) AS said"
        for edge, label in _PLACES.items()
    ]
)
_CHANGED = (
    "MATCH (b:Bundle) WHERE b.generation > $since "
    "RETURN b.id AS id, b.paper AS paper, b.generation AS generation, b.removed AS removed"
)
_DECIDED = "MATCH (d:Decision) WHERE d.generation > $since RETURN d.generation AS generation, d.said AS said"
_NEWEST = "MATCH (m:Meta {id: 'graph'}) RETURN m.newest AS newest"


class Stored(NamedTuple):
    """A paper as it was read. `sha256` is that of the bundle that was written, another than that of `bundle` where the
    graph was changed by hand since."""

    bundle: PaperBundle
    sha256: str
    generation: int

    @property
    def as_written(self) -> bool:
        return files.sha256(self.bundle) == self.sha256


def position(connection: Connection) -> Position:
    """How far the graph is; an empty one where the database holds none. One round trip."""
    state = require_schema(connection.read(read_state), connection)
    return Position(state.graph, state.generation)


def papers(connection: Connection) -> list[tuple[str, str]]:
    """The id and the key of every paper that the graph holds whole, by key."""
    statement = "MATCH (b:Bundle) WHERE NOT b.removed RETURN b.paper AS paper, b.id AS id ORDER BY id"
    rows = connection.read(lambda transaction: transaction.run(statement).values("paper", "id"))
    return [(json.loads(paper), one) for paper, one in rows]


def read(connection: Connection, keys: Sequence[str]) -> Iterator[Stored]:
    """The papers with these keys, in order; those that are not there are left out. Raises `CorruptStoreError` for what
    cannot be a bundle."""
    for start in range(0, len(keys), BATCH):
        part = keys[start : start + BATCH]
        found = _settled(lambda keys: connection.read(lambda transaction: read_within(transaction, keys)), part)
        for one in part:
            if one in found:
                yield found[one]


def bundles(transaction: neo4j.ManagedTransaction, papers: Sequence[str]) -> Iterator[PaperBundle]:
    """Papers by their own ids, those that are not there left out. Raises as `read` does."""
    for start in range(0, len(papers), BATCH):
        part = [key(paper) for paper in papers[start : start + BATCH]]
        found = _settled(lambda keys: read_within(transaction, keys), part)
        yield from (found[one].bundle for one in part if one in found)


def read_within(transaction: neo4j.ManagedTransaction, keys: Sequence[str]) -> dict[str, Stored]:
    """The papers with these keys as one transaction sees them, by key."""
    rests: dict[str, tuple[Rest, str, int]] = {}
    for record in transaction.run(_BUNDLES, keys=list(keys)):
        try:
            rests[record["id"]] = (unpack(bytes(record["rest"])), record["sha256"], record["generation"])
        except (ValueError, TypeError) as error:
            paper = json.loads(record["paper"])
            raise CorruptStoreError(
                f"what is kept of paper {paper!a} beside the graph is not what was written: build or import it again, "
                "or take it out with `xkg remove`"
            ) from error
    asked = {label: [one for rest, _, _ in rests.values() for one in rest.keys[label]] for label in _NODES}
    parts = Parts({label: {} for label in _NODES}, {edge: {} for edge in _PLACES})
    if rests:
        for kind, one, to, said in transaction.run(_PARTS, all=asked):
            if kind in parts.nodes:
                parts.nodes[kind][one] = said
            else:
                parts.edges[kind].setdefault((one, to), []).append(said)
    return {
        # A commit that is half seen shows as a hash, or a number of it, that is not the one beside it.
        one: Stored(rest.bundle(parts), sha256 if rest.generation == generation else "", generation)
        for one, (rest, sha256, generation) in rests.items()
    }


def changes(connection: Connection, since: Position | None) -> Changes:
    """What changed since: see `xkg.store.feed.Feed`."""
    state, rows, decided = _seen(connection, since)
    to = Position(state.graph, state.generation)
    whole = _is_whole(state, since)
    upserts = [row["id"] for row in rows if not row["removed"]]
    removed = frozenset() if whole else frozenset(json.loads(row["paper"]) for row in rows if row["removed"])
    return Changes(
        to=to,
        whole=whole,
        bundles=(one.bundle for one in read(connection, sorted(upserts))),
        removed=removed,
        decisions=all_decisions(connection) if decided else () if whole else None,
    )


def all_decisions(connection: Connection) -> tuple[Decision, ...]:
    rows = connection.read(lambda transaction: transaction.run(_DECIDED, since=-1).value("said"))
    found = (Decision.model_validate(json.loads(said)) for said in rows)
    return tuple(sorted(found, key=lambda decision: decision.key))


def _seen(connection: Connection, since: Position | None) -> tuple[State, list[dict[str, Any]], list[int]]:
    """The state, and what is newer, with all of the newest commit."""

    def look(transaction: neo4j.ManagedTransaction) -> tuple[State, list[dict[str, Any]], list[int], str]:
        state = require_schema(read_state(transaction), connection)
        begin = -1 if since is None or _is_whole(state, since) else since.counter
        newest = transaction.run(_NEWEST).value("newest")
        rows = transaction.run(_CHANGED, since=begin).data()
        decided = transaction.run(_DECIDED, since=begin).value("generation")
        return state, rows, decided, str(newest[0]) if newest else ""

    for _ in range(_ATTEMPTS * 10):
        state, rows, decided, newest = connection.read(look)
        number, _, count = newest.partition(":")
        of_newest = [row["generation"] for row in rows] + decided
        if state.generation == 0 or (since is not None and since == (state.graph, state.generation)):
            break
        if number == str(state.generation) and of_newest.count(state.generation) == int(count):
            break
        time.sleep(_PAUSE_SECONDS)
    return state, rows, decided


def _is_whole(state: State, since: Position | None) -> bool:
    return (
        since is None
        or since.graph != state.graph
        or since.counter < state.forgotten
        or since.counter > state.generation  # the graph was restored from a backup
    )


def _settled(look: Callable[[Sequence[str]], dict[str, Stored]], keys: Sequence[str]) -> dict[str, Stored]:
    """Papers as they are once they are read the same twice, or as they were written."""
    settled: dict[str, Stored] = {}
    before: dict[str, Stored] = {}
    waiting = list(keys)
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_SECONDS)
        found = look(waiting)
        for one, stored in found.items():
            if stored.as_written or (stored.sha256 and before.get(one) == stored) or attempt == _ATTEMPTS - 1:
                settled[one] = stored
        before = found
        waiting = [one for one in found if one not in settled]
        if not waiting:
            break
    return settled
