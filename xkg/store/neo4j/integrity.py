"""Fully checks a graph on Neo4j, for `xkg index check`."""

from xkg.errors import StoreError
from xkg.store.index_entries import entries
from xkg.store.local.generations import require_model
from xkg.store.neo4j import read
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import read_state, require_schema
from xkg.store.rows import NODES, Value, paper_rows

_ORPHANS = {
    "CitedWork": "NOT EXISTS { ()-[:CITES]->(n) }",
    "Technique": "NOT EXISTS { ()-[:PROPOSES|HAS_COMPONENT]->(n) }",
    "Code": "NOT EXISTS { ()-[:IMPLEMENTED_BY]->(n) }",
    "Symbol": "NOT EXISTS { ()-[:DEFINES]->(n) }",
    "Repository": "NOT EXISTS { ()-[:HAS_REPOSITORY]->(n) }",
    "Finding": "NOT EXISTS { ()-[:REPORTS]->(n) }",
    "Resource": "NOT EXISTS { ()-[:RELEASES]->(n) }",
}
_EXAMPLES = 3


def problems(connection: Connection, model: str) -> list[str]:
    """Returns one line for each problem. The check finds papers changed by hand, nodes without a paper, node counts
    that differ from the bundles, missing edges, and a different embedding model."""
    state = connection.read(read_state)
    require_schema(state, connection)
    found = []
    nodes: dict[str, set[Value]] = {label: set() for label in NODES if label not in ("CitedWork", "Ablation")}
    for _, paper_key in read.papers(connection):
        try:
            for stored in read.read(connection, [paper_key]):
                if not stored.as_written:
                    found.append(
                        f"paper {stored.bundle.paper.id!a} was changed by hand in the graph; publish the paper again "
                        "to undo the change (`xkg export` shows the current state)"
                    )
                for row in paper_rows(stored.bundle, list(entries(stored.bundle))):
                    if row.table in nodes:
                        nodes[row.table].add(row.values[0])
        except StoreError as error:
            found.append(str(error))
    found += _count_problems(connection, {label: len(ids) for label, ids in nodes.items()}) + _orphans(connection)
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
        f"{label} nodes: {have.get(label, 0)}, but the papers have {number}; publish the papers again, or remove "
        "nodes added by hand"
        for label, number in wanted.items()
        if have.get(label, 0) != number
    ]


def _orphans(connection: Connection) -> list[str]:
    found = []
    for label, condition in _ORPHANS.items():
        statement = (
            f"MATCH (n:{label}) WHERE {condition} RETURN count(n) AS number, collect(n.id)[..{_EXAMPLES}] AS ids"
        )
        number, ids = connection.read(lambda transaction, s=statement: transaction.run(s).values("number", "ids")[0])  # type: ignore[misc]
        if number:
            found.append(
                f"{label} nodes without a paper: {number} ({', '.join(map(ascii, ids))}); publish their papers "
                "again, or delete them"
            )
    return found
