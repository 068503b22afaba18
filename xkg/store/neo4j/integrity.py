"""Fully checks a graph on Neo4j, for `xkg index check`."""

from xkg.errors import StoreError
from xkg.store.index_entries import entries
from xkg.store.local.generations import require_model
from xkg.store.neo4j import read
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import read_state, require_schema
from xkg.store.rows import NODES, Value, paper_rows


def problems(connection: Connection, model: str) -> list[str]:
    """Returns one line for each problem. Problems are damaged papers, node counts that differ from the bundles, missing
    edges, and a different embedding model."""
    state = connection.read(read_state)
    require_schema(state, connection)
    found = []
    nodes: dict[str, set[Value]] = {label: set() for label in NODES if label not in ("CitedWork", "Ablation")}
    for _, paper_key in read.papers(connection):
        try:
            for stored in read.read(connection, [paper_key]):
                for row in paper_rows(stored.bundle, list(entries(stored.bundle))):
                    if row.table in nodes:
                        nodes[row.table].add(row.values[0])
        except StoreError as error:
            found.append(str(error))
    found += _count_problems(connection, {label: len(keys) for label, keys in nodes.items()})
    if state.connected < state.generation:
        found.append("citations and links between techniques are not up to date; run `xkg concepts`")
    try:
        require_model(state.model, model)
    except StoreError as error:
        found.append(str(error))
    return found


def _count_problems(connection: Connection, wanted: dict[str, int]) -> list[str]:
    statement = "\nUNION ALL ".join(
        f"MATCH (n:{label}) RETURN '{label}' AS label, count(n) AS number" for label in wanted
    )
    have = dict(connection.read(lambda transaction: transaction.run(statement).values("label", "number")))
    return [
        f"{label} nodes: {have.get(label, 0)}, but the papers have {number}; delete nodes added by hand, or remove "
        "the papers (`xkg remove`) and build or import them again"
        for label, number in wanted.items()
        if have.get(label, 0) != number
    ]
