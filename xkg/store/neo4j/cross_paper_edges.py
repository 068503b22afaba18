"""Updates `CITES` and `SAME_CONCEPT` edges after papers have been written, because these edges depend on all papers.

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
from xkg.store.rows import EDGES, NODES, citation_rows, same_concept_row

_ATTEMPTS = 20
_WORKS = "MATCH (w:CitedWork) RETURN w.id AS id, properties(w) AS properties"
_REACHED = "MATCH (m:XkgMeta {id: 'graph'}) WHERE m.generation = $generation SET m.connected = $generation RETURN m.id"

Kind = tuple[str, str, str]
_KINDS: tuple[Kind, ...] = (
    ("CITES", "Paper", "Paper"),
    ("CITES", "Paper", "CitedWork"),
    ("SAME_CONCEPT", "Technique", "Technique"),
)
"""Edge types with the labels of their ends."""

Edges = dict[tuple[Any, Any], dict[str, Any]]
"""The properties of each edge, keyed by the keys of both ends."""


class Drawing(NamedTuple):
    """The cited works, keyed by node key, and the edges between all papers."""

    works: dict[Any, dict[str, Any]]
    edges: dict[Kind, Edges]


class _Moved(Exception):
    """Raised if the graph has changed since the snapshot was taken."""


class _Drawn(Exception):
    """Raised if all edges are already up to date, so that nothing is committed."""


def connect(connection: Connection, snapshot: Callable[[], AbstractContextManager[Snapshot]]) -> int:
    """Adds the edges between all papers and returns the number of the commit that includes them.

    Raises `StoreBusyError` if other processes keep writing. The last of these processes to finish then adds the missing
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
    drawing = Drawing({}, {kind: {} for kind in _KINDS})
    rows = [*citation_rows(*works_and_citations(snapshot.papers()))]
    rows += [
        same_concept_row(link.first, link.second, link.score, link.how)
        for link in snapshot.links()
        if link.how != OPEN_PAIR
    ]
    for row in rows:
        if row.table == "CitedWork":
            properties = zip(NODES["CitedWork"].split(), row.values, strict=True)
            drawing.works[row.values[0]] = {name: value for name, value in properties if value is not None}
        else:
            first, second, names = EDGES[row.table]
            edges = drawing.edges[row.table, first, row.to or second]
            edges[row.values[0], row.values[1]] = dict(zip(names.split(), row.values[2:], strict=True))
    return drawing


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
    for kind in _KINDS:
        edge, first, second = kind
        there, here = stored.edges[kind], wanted.edges[kind]
        each = f"UNWIND $rows AS row {seek('a', first, 'row.a')} {seek('b', second, 'row.b')}"
        run(f"{each} MATCH (a)-[e:{edge}]->(b) DELETE e", rows=_only_in(there, here))
        run(f"{each} CREATE (a)-[e:{edge}]->(b) SET e = row.properties", rows=_only_in(here, there))
    write.stamp(transaction, state, 0, connected=state.generation)
    return state.generation


def _stored(transaction: neo4j.ManagedTransaction) -> Drawing:
    def edges(edge: str, first: str, second: str) -> Edges:
        found = transaction.run(f"MATCH (a:{first})-[e:{edge}]->(b:{second}) RETURN a.id, b.id, properties(e)")
        return {(a, b): properties for a, b, properties in found}

    return Drawing(dict(iter(transaction.run(_WORKS))), {kind: edges(*kind) for kind in _KINDS})


def _only_in(edges: Edges, others: Edges) -> list[dict[str, Any]]:
    return [
        {"a": a, "b": b, "properties": properties}
        for (a, b), properties in sorted(edges.items())
        if others.get((a, b)) != properties
    ]
