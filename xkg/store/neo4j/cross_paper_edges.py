"""`CITES` and `SAME_CONCEPT`, which follow from all papers together: updated after papers were written.

The edges are computed from a snapshot beside the graph, as in the embedded store, and the difference is written only
if the graph has not changed meanwhile. `(:Meta).connected` is the commit up to which the edges are drawn, so the next
writer completes what one that died left undone.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import neo4j

from xkg.errors import StoreBusyError
from xkg.store.concepts.linking import OPEN_PAIR
from xkg.store.graph_store import Snapshot
from xkg.store.neo4j import write
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.index_hints import seek
from xkg.store.neo4j.db.migrations import read_state
from xkg.store.rows import NODES, citation_rows, same_concept_row

_ATTEMPTS = 20
_STUBS = (
    "MATCH (p:Paper) WHERE p.state = 'stub' AND NOT EXISTS { MATCH (b:Bundle {id: p.id}) WHERE NOT b.removed } "
    "RETURN p.id AS id, properties(p) AS properties"
)
_CITES = "MATCH (a:Paper)-[:CITES]->(b:Paper) RETURN a.id AS a, b.id AS b"
_SAME = (
    "MATCH (a:Technique)-[e:SAME_CONCEPT]->(b:Technique) RETURN a.id AS a, b.id AS b, e.score AS score, e.how AS how"
)
_REACHED = "MATCH (m:Meta {id: 'graph'}) WHERE m.generation = $generation SET m.connected = $generation RETURN m.id"

Edge = tuple[str, str]


class Drawing(NamedTuple):
    """Stubs by key, citations, and `SAME_CONCEPT` with the score and origin of each edge."""

    stubs: dict[str, dict[str, Any]]
    cites: frozenset[Edge]
    same: dict[Edge, tuple[float, str]]


class _Moved(Exception):
    """The graph has changed since the snapshot was taken."""


class _Drawn(Exception):
    """All edges are up to date: nothing is to be committed."""


def connect(connection: Connection, snapshot: Callable[[], AbstractContextManager[Snapshot | None]]) -> int:
    """Draws what follows from all papers, and gives the number of the commit that shows it.

    Raises `StoreBusyError` where others go on writing; the last of them draws what is missing then."""
    for _ in range(_ATTEMPTS):
        state = connection.read(read_state)
        if state.connected >= state.generation:
            return state.generation
        with snapshot() as current:
            if current is None or current.generation != state.generation:
                continue
            generation = current.generation
            wanted = _wanted(current)
        try:
            return connection.write(lambda transaction, w=wanted, g=generation: _draw(transaction, w, g))  # type: ignore[misc]
        except _Moved:
            continue
        except _Drawn:
            if connection.write(lambda transaction, g=generation: transaction.run(_REACHED, generation=g).single()):  # type: ignore[misc]
                return generation
    raise StoreBusyError(
        f"others go on writing to {connection.address}: papers are stored, and who cites whom is drawn by `xkg link` "
        "or the next build"
    )


def _wanted(snapshot: Snapshot) -> Drawing:
    stubs: dict[str, dict[str, Any]] = {}
    cites = set()
    names = [name.removesuffix("[]") for name in NODES["Paper"].split()]
    for row in citation_rows(snapshot.papers()):
        if row.table == "Paper":
            properties = {
                name: list(v) if isinstance(v, tuple) else v for name, v in zip(names, row.values, strict=True)
            }
            stubs[str(row.values[0])] = {name: value for name, value in properties.items() if value is not None}
        else:
            cites.add((str(row.values[0]), str(row.values[1])))
    same: dict[Edge, tuple[float, str]] = {}
    for link in snapshot.links():
        if link.how != OPEN_PAIR:
            first, second, *_ = same_concept_row(link.first, link.second, link.score, link.how).values
            same[str(first), str(second)] = (link.score, link.how)
    return Drawing(stubs, frozenset(cites), same)


def _pair(label: str) -> str:
    return f"{seek('a', label, 'row.a')} {seek('b', label, 'row.b')}"


def _draw(transaction: neo4j.ManagedTransaction, wanted: Drawing, generation: int) -> int:
    state = write.begin(transaction)
    if state.generation != generation + 1:
        raise _Moved
    stored = _stored(transaction)
    if stored == wanted:
        raise _Drawn
    run = transaction.run
    uncited = sorted(stored.stubs.keys() - wanted.stubs.keys())
    run(f"UNWIND $ids AS id {seek('p', 'Paper', 'id')} DETACH DELETE p", ids=uncited)
    changed = [stub for stub_key, stub in sorted(wanted.stubs.items()) if stored.stubs.get(stub_key) != stub]
    run("UNWIND $rows AS row MERGE (p:Paper {id: row.id}) SET p = row", rows=changed)
    pair = _pair("Paper")
    run(f"UNWIND $rows AS row {pair} MATCH (a)-[e:CITES]->(b) DELETE e", rows=_pairs(stored.cites - wanted.cites))
    run(f"UNWIND $rows AS row {pair} CREATE (a)-[:CITES]->(b)", rows=_pairs(wanted.cites - stored.cites))
    pair = _pair("Technique")
    outdated = frozenset(edge for edge, link in stored.same.items() if wanted.same.get(edge) != link)
    run(f"UNWIND $rows AS row {pair} MATCH (a)-[e:SAME_CONCEPT]->(b) DELETE e", rows=_pairs(outdated))
    new = [
        {"a": a, "b": b, "score": score, "how": how}
        for (a, b), (score, how) in sorted(wanted.same.items())
        if stored.same.get((a, b)) != (score, how)
    ]
    run(f"UNWIND $rows AS row {pair} CREATE (a)-[:SAME_CONCEPT {{score: row.score, how: row.how}}]->(b)", rows=new)
    write.stamp(transaction, state, 0, connected=state.generation)
    return state.generation


def _stored(transaction: neo4j.ManagedTransaction) -> Drawing:
    return Drawing(
        dict(iter(transaction.run(_STUBS))),
        frozenset((a, b) for a, b in transaction.run(_CITES)),
        {(a, b): (score, how) for a, b, score, how in transaction.run(_SAME)},
    )


def _pairs(edges: frozenset[Edge]) -> list[dict[str, str]]:
    return [{"a": a, "b": b} for a, b in sorted(edges)]
