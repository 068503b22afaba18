"""Fully checks a graph on Neo4j, for `xkg index check`."""

from xkg.errors import StoreError
from xkg.store.neo4j import read
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import read_state, require_schema
from xkg.store.rows import NODES, key

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
    """Returns one line for each problem. Problems are papers changed by hand, nodes without a paper, node counts that
    differ from the bundles, missing edges, and a different embedding model."""
    state = connection.read(read_state)
    require_schema(state, connection)
    found = []
    counts = dict.fromkeys((label for label in NODES if label not in ("CitedWork", "Ablation")), 0)
    known = set()
    shared: dict[str, set[str]] = {"Symbol": set(), "Repository": set()}
    for _, paper_key in read.papers(connection):
        try:
            for stored in read.read(connection, [paper_key]):
                bundle = stored.bundle
                if not stored.as_written:
                    found.append(
                        f"paper {bundle.paper.id!a} was changed by hand in the graph; publish the paper again to "
                        "undo the change (`xkg export` shows the current state)"
                    )
                known.add(paper_key)
                visible = {t.id for t in bundle.techniques if t.hidden is None}
                counts["Technique"] += len(visible)
                counts["Code"] += sum(code.technique in visible for code in bundle.code)
                counts["Finding"] += len(bundle.findings)
                counts["Resource"] += len(bundle.resources)
                shared["Symbol"].update(key(symbol.id) for symbol in bundle.symbols)
                shared["Repository"].update(key(repository.id) for repository in bundle.repositories)
        except StoreError as error:
            found.append(str(error))
    counts |= {label: len(ids) for label, ids in shared.items()}
    counts["Paper"] = len(known)
    found += _count_problems(connection, counts) + _orphans(connection)
    if state.connected < state.generation:
        found.append("citations and links between techniques are not up to date; run `xkg concepts`")
    if state.model not in ("", model):
        found.append(
            f"the graph is linked with embedding model {state.model!r}, but {model!r} is configured; restore the "
            "first model, or run `xkg index rebuild`"
        )
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
