"""`CITES` and `SAME_CONCEPT`, which follow from all papers together: drawn after what was written, as a difference.

What is to be drawn is computed from a snapshot beside the graph, as the embedded store computes it, and written only
where the graph has not moved on meanwhile. `(:Meta).connected` says up to which commit it is drawn, so what a writer
that died left undone is done by the next one.
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
    "RETURN p.id AS id, properties(p) AS said"
)
_CITES = "MATCH (a:Paper)-[:CITES]->(b:Paper) RETURN a.id AS a, b.id AS b"
_SAME = (
    "MATCH (a:Technique)-[e:SAME_CONCEPT]->(b:Technique) RETURN a.id AS a, b.id AS b, e.score AS score, e.how AS how"
)
_REACHED = "MATCH (m:Meta {id: 'graph'}) WHERE m.generation = $generation SET m.connected = $generation RETURN m.id"

Edge = tuple[str, str]


class Drawing(NamedTuple):
    """Stubs by key, citations, and one concept in two papers with what the edge says."""

    stubs: dict[str, dict[str, Any]]
    cites: frozenset[Edge]
    same: dict[Edge, tuple[float, str]]


class _Moved(Exception):
    """The graph is not the one that was looked at."""


class _Drawn(Exception):
    """All is drawn as it should be: nothing is to be committed."""


def connect(connection: Connection, snapshot: Callable[[], AbstractContextManager[Snapshot | None]]) -> int:
    """Draws what follows from all papers, and gives the number of the commit that shows it.

    Raises `StoreBusyError` where others go on writing; what is not drawn then, is by the last of them."""
    for _ in range(_ATTEMPTS):
        state = connection.read(read_state)
        if state.connected >= state.generation:
            return state.generation
        with snapshot() as seen:
            if seen is None or seen.generation != state.generation:
                continue
            generation = seen.generation
            wanted = _wanted(seen)
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
            said = {name: list(v) if isinstance(v, tuple) else v for name, v in zip(names, row.values, strict=True)}
            stubs[str(row.values[0])] = {name: value for name, value in said.items() if value is not None}
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
    there = _there(transaction)
    if there == wanted:
        raise _Drawn
    run = transaction.run
    uncited = sorted(there.stubs.keys() - wanted.stubs.keys())
    run(f"UNWIND $ids AS id {seek('p', 'Paper', 'id')} DETACH DELETE p", ids=uncited)
    changed = [said for one, said in sorted(wanted.stubs.items()) if there.stubs.get(one) != said]
    run("UNWIND $rows AS row MERGE (p:Paper {id: row.id}) SET p = row", rows=changed)
    pair = _pair("Paper")
    run(f"UNWIND $rows AS row {pair} MATCH (a)-[e:CITES]->(b) DELETE e", rows=_pairs(there.cites - wanted.cites))
    run(f"UNWIND $rows AS row {pair} CREATE (a)-[:CITES]->(b)", rows=_pairs(wanted.cites - there.cites))
    pair = _pair("Technique")
    gone = frozenset(one for one, said in there.same.items() if wanted.same.get(one) != said)
    run(f"UNWIND $rows AS row {pair} MATCH (a)-[e:SAME_CONCEPT]->(b) DELETE e", rows=_pairs(gone))
    new = [
        {"a": one[0], "b": one[1], "score": said[0], "how": said[1]}
        for one, said in sorted(wanted.same.items())
        if there.same.get(one) != said
    ]
    run(f"UNWIND $rows AS row {pair} CREATE (a)-[:SAME_CONCEPT {{score: row.score, how: row.how}}]->(b)", rows=new)
    write.stamp(transaction, state, 0, connected=state.generation)
    return state.generation


def _there(transaction: neo4j.ManagedTransaction) -> Drawing:
    return Drawing(
        dict(iter(transaction.run(_STUBS))),
        frozenset((a, b) for a, b in transaction.run(_CITES)),
        {(a, b): (score, how) for a, b, score, how in transaction.run(_SAME)},
    )


def _pairs(edges: frozenset[Edge]) -> list[dict[str, str]]:
    return [{"a": a, "b": b} for a, b in sorted(edges)]
