"""`CITES` and `SAME_CONCEPT` edges, which depend on all papers and are updated after papers have been written.

As in the embedded store, edges are computed from a snapshot. Differences are written only if the graph has not changed
in the meantime. `(:XkgMeta).connected` is the last commit whose edges are complete. If a writer dies, the next writer
adds any missing edges."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import neo4j

from xkg.errors import StoreBusyError
from xkg.store.concepts.citations import works_and_citations
from xkg.store.concepts.linking import OPEN_PAIR
from xkg.store.graph_store import Snapshot
from xkg.store.neo4j import write
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.index_hints import seek
from xkg.store.neo4j.db.migrations import read_state
from xkg.store.rows import NODES, citation_rows, same_concept_row

_ATTEMPTS = 20
_WORKS = "MATCH (w:CitedWork) RETURN w.id AS id, properties(w) AS properties"
_CITES = "MATCH (a:Paper)-[:CITES]->(b:{label}) RETURN a.id AS a, b.id AS b"
_CITED = ("Paper", "CitedWork")
_SAME = (
    "MATCH (a:Technique)-[e:SAME_CONCEPT]->(b:Technique) RETURN a.id AS a, b.id AS b, e.score AS score, e.how AS how"
)
_REACHED = "MATCH (m:XkgMeta {id: 'graph'}) WHERE m.generation = $generation SET m.connected = $generation RETURN m.id"

Edge = tuple[str, str]


class Drawing(NamedTuple):
    """Cited works keyed by node key, citations keyed by the cited node's label, and `SAME_CONCEPT` edges with their
    score and reason."""

    works: dict[str, dict[str, Any]]
    cites: dict[str, frozenset[Edge]]
    same: dict[Edge, tuple[float, str]]


class _Moved(Exception):
    """The graph has changed since the snapshot was taken."""


class _Drawn(Exception):
    """All edges are already up to date, so nothing is committed."""


def connect(connection: Connection, snapshot: Callable[[], AbstractContextManager[Snapshot]]) -> int:
    """Adds the edges between all papers and returns the number of the commit that includes them.

    Raises `StoreBusyError` if other processes keep writing. In that case, the last process to finish adds the missing
    edges."""
    for _ in range(_ATTEMPTS):
        state = connection.read(read_state)
        if state.connected >= state.generation:
            return state.generation
        with snapshot() as current:
            if current.generation != state.generation:
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
        f"other processes keep writing to {connection.address}: the papers are stored; `xkg concepts` or the next "
        "build adds citations between them"
    )


def _wanted(snapshot: Snapshot) -> Drawing:
    works: dict[str, dict[str, Any]] = {}
    cites: dict[str, set[Edge]] = {label: set() for label in _CITED}
    names = NODES["CitedWork"].split()
    for row in citation_rows(*works_and_citations(snapshot.papers())):
        if row.table == "CitedWork":
            properties = zip(names, row.values, strict=True)
            works[str(row.values[0])] = {name: value for name, value in properties if value is not None}
        else:
            cites[row.to].add((str(row.values[0]), str(row.values[1])))
    same: dict[Edge, tuple[float, str]] = {}
    for link in snapshot.links():
        if link.how != OPEN_PAIR:
            first, second, *_ = same_concept_row(link.first, link.second, link.score, link.how).values
            same[str(first), str(second)] = (link.score, link.how)
    return Drawing(works, {label: frozenset(edges) for label, edges in cites.items()}, same)


def _pair(first: str, second: str) -> str:
    return f"{seek('a', first, 'row.a')} {seek('b', second, 'row.b')}"


def _draw(transaction: neo4j.ManagedTransaction, wanted: Drawing, generation: int) -> int:
    state = write.begin(transaction)
    if state.generation != generation + 1:
        raise _Moved
    stored = _stored(transaction)
    if stored == wanted:
        raise _Drawn
    run = transaction.run
    uncited = sorted(stored.works.keys() - wanted.works.keys())
    run(f"UNWIND $ids AS id {seek('w', 'CitedWork', 'id')} DETACH DELETE w", ids=uncited)
    changed = [work for work_key, work in sorted(wanted.works.items()) if stored.works.get(work_key) != work]
    run("UNWIND $rows AS row MERGE (w:CitedWork {id: row.id}) SET w = row", rows=changed)
    for label in _CITED:
        pair, there, here = _pair("Paper", label), stored.cites[label], wanted.cites[label]
        run(f"UNWIND $rows AS row {pair} MATCH (a)-[e:CITES]->(b) DELETE e", rows=_pairs(there - here))
        run(f"UNWIND $rows AS row {pair} CREATE (a)-[:CITES]->(b)", rows=_pairs(here - there))
    pair = _pair("Technique", "Technique")
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
        dict(iter(transaction.run(_WORKS))),
        {label: frozenset((a, b) for a, b in transaction.run(_CITES.replace("{label}", label))) for label in _CITED},
        {(a, b): (score, how) for a, b, score, how in transaction.run(_SAME)},
    )


def _pairs(edges: frozenset[Edge]) -> list[dict[str, str]]:
    return [{"a": a, "b": b} for a, b in sorted(edges)]
