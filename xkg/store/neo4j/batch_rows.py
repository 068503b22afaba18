"""What batches built into a graph that several machines share, so that they divide a list: `(:XkgLease {id, row,
paper})`, where `id` is a digest of all that decided the paper's build and `row` what the batch says of it.

It lies on the node of a lease, which is never removed; nobody holds it.
"""

from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.index_hints import seek
from xkg.store.rows import key

_PREFIX = "listed "
_OF = (
    f"{seek('l', 'XkgLease', '$id')} WITH l MATCH (b:XkgBundle {{id: l.paper}}) WHERE NOT b.removed RETURN l.row AS row"
)
_ENTER = (
    "MERGE (l:XkgLease {id: $id}) ON CREATE SET l.fence = 0, l.expires = 0, l.holder = '' "
    "SET l.row = $row, l.paper = $paper"
)


def row_of(connection: Connection, inputs: str) -> str | None:
    """The row of a paper that was built of these inputs, if the graph still has it. Raises what the connection
    raises."""
    record = connection.read(lambda transaction: transaction.run(_OF, id=_PREFIX + inputs).single())
    return None if record is None else str(record["row"])


def enter(connection: Connection, inputs: str, paper: str, row: str) -> None:
    """Raises what the connection raises."""
    values = {"id": _PREFIX + inputs, "paper": key(paper), "row": row}
    connection.write(lambda transaction: transaction.run(_ENTER, values).consume())
