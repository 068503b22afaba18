"""Stores batch results in a graph shared by several machines, so that the machines can divide a list of papers. Each
result is a node `(:XkgLease {id, row, paper})`. `id` is a digest of all inputs to the paper's build, and `row` is the
paper's row in the batch results.

The builder holds the lease until the row is written, so the next holder finds it."""

from collections.abc import Iterator
from contextlib import contextmanager

from xkg.store.neo4j import leases
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.index_hints import seek
from xkg.store.rows import key

_PREFIX = "listed "
_OF = (
    f"{seek('l', 'XkgLease', '$id')} WITH l MATCH (b:XkgBundle {{id: l.paper}}) WHERE NOT b.removed RETURN l.row AS row"
)
_ENTER = f"{seek('l', 'XkgLease', '$id')} SET l.row = $row, l.paper = $paper"


@contextmanager
def turn(connection: Connection, inputs: str, holder: str) -> Iterator[str | None]:
    """Holds the lease on a paper with these inputs until the context ends. Yields the paper's row if the paper has been
    built from these inputs and is still in the graph. Raises the same errors as `leases.held`."""
    with leases.held(connection, _PREFIX + inputs, holder):
        yield _row_of(connection, inputs)


def _row_of(connection: Connection, inputs: str) -> str | None:
    record = connection.read(lambda transaction: transaction.run(_OF, id=_PREFIX + inputs).single())
    return None if record is None else str(record["row"])


def enter(connection: Connection, inputs: str, paper: str, row: str) -> None:
    """Stores the batch results of a paper (`row`) in the node of its lease. Raises the same errors as `Connection`."""
    values = {"id": _PREFIX + inputs, "paper": key(paper), "row": row}
    connection.write(lambda transaction: transaction.run(_ENTER, values).consume())
