"""Writes papers to the graph in a transaction that may be retried.

The transaction first increments the counter on `(:XkgMeta)`. The node's lock serialises all writers, so everything that
the transaction reads afterwards remains valid until the commit. A paper's nodes are merged, so that edges to them from
other papers are kept. The paper's own edges are recreated. Nodes that no longer belong to the paper are removed, unless
another paper shares them."""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import neo4j

from xkg.errors import StoreError
from xkg.model import Ablation, PaperBundle
from xkg.store import bundles as files
from xkg.store.graph_store import Decision
from xkg.store.index_entries import entries
from xkg.store.local.generations import require_model
from xkg.store.neo4j import earlier_states, read
from xkg.store.neo4j.db.index_hints import seek
from xkg.store.neo4j.db.migrations import State
from xkg.store.neo4j.lossless_extras import Rest, pack, unpack
from xkg.store.rows import EDGES, NODES, Row, ablation_rows, key, paper_rows

_OWN = ("Technique", "Code", "Finding", "Resource")
_COUNT = (
    "MATCH (m:XkgMeta {id: 'graph'}) SET m.generation = m.generation + 1 "
    "RETURN m.graph AS graph, m.generation AS generation, m.schema AS schema, m.model AS model, "
    "m.connected AS connected, m.forgotten AS forgotten"
)
# `newest` is a single property, so it is never partly visible.
# Readers use it to check whether the newest commit is fully visible.
_STAMP = (
    "MATCH (m:XkgMeta {id: 'graph'}) SET m.newest = $all.newest, m.model = $all.model, m.connected = $all.connected"
)
_EARLIER = f"UNWIND $papers AS key {seek('b', 'XkgBundle', 'key')} RETURN key, b.rest AS rest"
_BY_PREFIX = "UNWIND $prefixes AS prefix MATCH (n:{label}) WHERE n.id STARTS WITH prefix RETURN n.id AS id"
_SHARERS = (
    "UNWIND $repositories AS id MATCH (r:Repository {id: id})<-[:HAS_REPOSITORY]-(p:Paper) "
    "WHERE NOT p.id IN $papers MATCH (b:XkgBundle {id: p.id}) RETURN id, b.id AS bundle, id IN b.official AS official"
)


def begin(transaction: neo4j.ManagedTransaction) -> State:
    """Increments the counter and returns the new state. The counter stays locked until the transaction ends."""
    record = transaction.run(_COUNT).single()
    if record is None:
        raise StoreError("the graph was removed from the database in the meantime: nothing was changed; try again")
    return State(**record.data())


def replace(
    transaction: neo4j.ManagedTransaction,
    state: State,
    new: Sequence[PaperBundle],
    removed: Sequence[str],
    model: str,
) -> bool:
    """Adds or replaces the papers in `new` that have changed, and removes the papers in `removed`, in the commit
    `state`. Returns False if nothing changes. Raises `ModelMismatchError` if the graph is linked with a different
    embedding model."""
    if new:
        require_model(state.model, model)
    seen = read.look(transaction, [key(bundle.paper.id) for bundle in new] + [key(paper) for paper in removed])
    new = [bundle for bundle in new if not _is_stored(bundle, seen.get(key(bundle.paper.id)))]
    if not new and not removed:
        return False
    papers = [key(bundle.paper.id) for bundle in new] + [key(paper) for paper in removed]
    earlier = _earlier(transaction, papers)
    earlier_states.keep(transaction, state, {paper: seen.get(paper) for paper in papers})
    rows = _Rows()
    stored = []
    for bundle in new:
        visible = list(entries(bundle))
        rows.add(paper_rows(bundle, visible))
        stored.append(_bundle_row(bundle, frozenset(entry.technique.id for entry in visible), state.generation))
    stored += [_tombstone(paper, state.generation) for paper in removed]
    everything = {
        **rows.parameters(),
        **{f"gone_{label}": ids for label, ids in _gone(transaction, earlier, rows).items()},
        "gone_Paper": [key(paper) for paper in removed],
        "papers": papers,
        "bundles": stored,
        **_stamp(state, len(stored), model=state.model or (model if new else "")),
    }
    transaction.run(_WRITE, all=everything)
    _drop_shared(transaction, earlier.values(), rows, papers)
    return True


def decide(transaction: neo4j.ManagedTransaction, state: State, decisions: Sequence[Decision]) -> None:
    """Adds or replaces decisions in the commit `state`."""
    rows = [
        {
            "id": hashlib.sha256(json.dumps(decision.key).encode("ascii")).hexdigest(),
            "generation": state.generation,
            "said": json.dumps(decision.model_dump()),
        }
        for decision in decisions
    ]
    transaction.run("UNWIND $rows AS row MERGE (d:XkgDecision {id: row.id}) SET d = row", rows=rows)
    stamp(transaction, state, len(rows))


def add_ablations(transaction: neo4j.ManagedTransaction, state: State, ablations: Sequence[Ablation]) -> None:
    """Adds measurements and their edges in the commit `state`, replacing any with the same ids."""
    rows = _Rows()
    for ablation in ablations:
        rows.add(ablation_rows(ablation))
    transaction.run(
        "UNWIND $rows AS row MERGE (a:Ablation {id: row.id}) SET a = row WITH a "
        "MATCH (t:Technique {id: a.technique}) MERGE (t)-[:ABLATED_IN]->(a)",
        rows=rows.parameters()["Ablation"],
    ).consume()
    stamp(transaction, state, 0)


def renew(transaction: neo4j.ManagedTransaction, state: State, model: str) -> None:
    """Marks all papers as unlinked, sets the embedding model, and renames the graph so that all copies are rebuilt.
    Deletes tombstones, which are no longer needed."""
    transaction.run("MATCH (b:XkgBundle) WHERE b.removed DELETE b")
    transaction.run(
        "MATCH (m:XkgMeta {id: 'graph'}) SET m.graph = $graph, m.forgotten = m.generation", graph=uuid.uuid4().hex
    )
    stamp(transaction, state, 0, model=model, connected=0)


def stamp(
    transaction: neo4j.ManagedTransaction,
    state: State,
    changed: int,
    *,
    model: str | None = None,
    connected: int | None = None,
) -> None:
    """Records how many nodes have this commit's number (`changed`). Must be called at the end of the transaction."""
    transaction.run(_STAMP, all=_stamp(state, changed, model=model, connected=connected)).consume()


def _stamp(state: State, changed: int, *, model: str | None = None, connected: int | None = None) -> dict[str, Any]:
    return {
        "newest": f"{state.generation}:{changed}",
        "model": state.model if model is None else model,
        "connected": state.connected if connected is None else connected,
    }


class _Rows:
    def __init__(self) -> None:
        self._rows: dict[str, dict[Any, dict[str, Any]]] = {table: {} for table in (*NODES, *EDGES)}

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            table, values = self._rows[row.table], [list(v) if isinstance(v, tuple) else v for v in row.values]
            if row.table in NODES:
                node = dict(zip(NODES[row.table].replace("[]", "").split(), values, strict=True))
                # If papers share a repository, use the paper for which it is official, or else the first paper.
                if node["id"] not in table or (row.table == "Repository" and node["is_official"]):
                    table[node["id"]] = node
            else:
                names = ["a", "b", *EDGES[row.table][2].replace("[]", "").split()]
                # A shared symbol is defined only once. Duplicates of all other edges in a bundle are kept.
                at: Any = row.values if row.table == "DEFINES" else len(table)
                table[at] = dict(zip(names, values, strict=True))

    def ids(self, label: str) -> set[str]:
        return set(self._rows[label])

    def parameters(self) -> dict[str, list[dict[str, Any]]]:
        return {table: list(rows.values()) for table, rows in self._rows.items()}


def _write_statement() -> str:
    """Builds a single statement that writes all tables, even empty ones, in one round trip. All rows are in one map,
    because the server caches a separate plan for each order of magnitude of each list parameter."""
    parts = [f"UNWIND $all.gone_{label} AS id {seek('n', label, 'id')} DETACH DELETE n" for label in ("Paper", *_OWN)]
    own = {
        "papers AS id": ("Paper", "id", "PROPOSES|REPORTS|RELEASES|HAS_REPOSITORY"),
        "Technique AS row": ("Technique", "row.id", "HAS_COMPONENT|IMPLEMENTED_BY|LOCATED_AT"),
        "Code AS row": ("Code", "row.id", "DERIVED_FROM"),
    }
    parts += [
        f"UNWIND $all.{rows} {seek('n', label, one, f'-[e:{edges}]->()')} DELETE e"
        for rows, (label, one, edges) in own.items()
    ]
    for label in NODES:
        if label in ("CitedWork", "Ablation"):  # these nodes are created separately from papers
            continue
        keep = (
            " WITH n, row WHERE row.is_official OR NOT coalesce(n.is_official, false) OR NOT EXISTS { "
            "MATCH (n)<-[:HAS_REPOSITORY]-(p:Paper) MATCH (b:XkgBundle {id: p.id}) "
            "WHERE n.id IN b.official AND NOT p.id IN $all.papers }"
            if label == "Repository"
            else ""
        )
        parts.append(f"UNWIND $all.{label} AS row MERGE (n:{label} {{id: row.id}}){keep} SET n = row")
    # A cited work that has been built becomes a paper, and citations of it become citations of the paper.
    work = f"UNWIND $all.Paper AS row {seek('w', 'CitedWork', 'row.id')}"
    parts += [
        f"{work} MATCH (a:Paper)-[:CITES]->(w) {seek('p', 'Paper', 'row.id')} CREATE (a)-[:CITES]->(p)",
        f"{work} DETACH DELETE w",
    ]
    for edge, (first, second, columns) in EDGES.items():
        if edge in ("CITES", "SAME_CONCEPT", "ABLATED_IN"):
            continue
        properties = ", ".join(f"`{name}`: row.`{name}`" for name in columns.replace("[]", "").split())
        drawn = "MERGE (a)-[:DEFINES]->(b)" if edge == "DEFINES" else f"CREATE (a)-[:{edge} {{{properties}}}]->(b)"
        parts.append(f"UNWIND $all.{edge} AS row {seek('a', first, 'row.a')} {seek('b', second, 'row.b')} {drawn}")
    parts.append(
        f"UNWIND $all.Technique AS row {seek('t', 'Technique', 'row.id')} "
        f"{seek('a', 'Ablation', 'row.id', by='technique')} "
        "MERGE (t)-[:ABLATED_IN]->(a)"
    )
    parts += ["UNWIND $all.bundles AS row MERGE (b:XkgBundle {id: row.id}) SET b = row", _STAMP]
    # `replan=skip` keeps the server from planning this statement again, which would take a second.
    # Nodes are looked up by id, so the plan does not depend on the size of the graph.
    return "CYPHER replan=skip\n" + "\n".join(f"CALL () {{ {part} }}" for part in parts)


_WRITE = _write_statement()


def _bundle_row(bundle: PaperBundle, visible: frozenset[str], generation: int) -> dict[str, Any]:
    return {
        "id": key(bundle.paper.id),
        "paper": json.dumps(bundle.paper.id),
        "generation": generation,
        "removed": False,
        "sha256": files.sha256(bundle),
        "official": [key(repository.id) for repository in bundle.repositories if repository.is_official],
        "rest": pack(bundle, visible, generation),
    }


def _tombstone(paper: str, generation: int) -> dict[str, Any]:
    return {"id": key(paper), "paper": json.dumps(paper), "generation": generation, "removed": True}


def _is_stored(bundle: PaperBundle, seen: read.Seen) -> bool:
    return isinstance(seen, read.Stored) and seen.as_written and seen.bundle == bundle


def _earlier(transaction: neo4j.ManagedTransaction, papers: Sequence[str]) -> dict[str, Rest | None]:
    found: dict[str, Rest | None] = {}
    for record in transaction.run(_EARLIER, papers=papers):
        if record["rest"] is not None:
            try:
                found[record["key"]] = unpack(bytes(record["rest"]))
            except (ValueError, TypeError):
                found[record["key"]] = None
    return found


def _gone(
    transaction: neo4j.ManagedTransaction, earlier: Mapping[str, Rest | None], rows: _Rows
) -> dict[str, list[str]]:
    lost = [f"{paper.partition('~')[0]}#" for paper, rest in earlier.items() if rest is None]
    gone = {}
    for label in _OWN:
        had = {one for rest in earlier.values() if rest is not None for one in rest.keys[label]}
        if lost:
            had.update(transaction.run(_BY_PREFIX.replace("{label}", label), prefixes=lost).value("id"))
        gone[label] = sorted(had - rows.ids(label))
    return gone


def _drop_shared(
    transaction: neo4j.ManagedTransaction, earlier: Iterable[Rest | None], rows: _Rows, papers: Sequence[str]
) -> None:
    """Deletes these papers' repositories and symbols that are no longer used by any paper."""
    known = [rest for rest in earlier if rest is not None]
    symbols = {
        symbol: repository
        for rest in known
        for symbol, repository in rest.symbols.items()
        if symbol not in rows.ids("Symbol")
    }
    repositories = {one for rest in known for one in rest.repositories} - rows.ids("Repository")
    if not symbols and not repositories:
        return
    shared = sorted(repositories | set(symbols.values()))
    sharers: dict[str, list[str]] = {}
    official: set[str] = set()
    for record in transaction.run(_SHARERS, repositories=shared, papers=papers):
        sharers.setdefault(record["id"], []).append(record["bundle"])
        official.update([record["id"]] if record["official"] else [])
    for other in {other for others in sharers.values() for other in others}:
        if not symbols:
            break
        rest = _earlier(transaction, [other]).get(other)
        # If the other paper is damaged, nothing that it may use is deleted.
        symbols = {
            symbol: repository
            for symbol, repository in symbols.items()
            if (symbol not in rest.symbols if rest is not None else repository not in sharers)
        }
    transaction.run("UNWIND $symbols AS id MATCH (n:Symbol {id: id}) DETACH DELETE n", symbols=sorted(symbols))
    transaction.run(
        "UNWIND $repositories AS id MATCH (n:Repository {id: id}) DETACH DELETE n",
        repositories=sorted(repositories - sharers.keys()),
    )
    transaction.run(
        "UNWIND $repositories AS id MATCH (n:Repository {id: id}) SET n.is_official = false",
        repositories=sorted((repositories & sharers.keys()) - official),
    )
