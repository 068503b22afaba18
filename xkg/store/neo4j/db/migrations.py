"""Manages a graph's Neo4j schema, which is defined in `cypher/schema/neo4j/`.

Neo4j cannot change the schema and data in the same transaction, so a migration has two steps. The first step runs
idempotent statements, and the second records that they have been applied. A migration that is interrupted between these
steps is rerun."""

import re
import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

import neo4j
from neo4j.exceptions import Neo4jError

from xkg.config import Settings
from xkg.errors import ConfigError, SchemaVersionError, StoreError
from xkg.store.cypher import named_queries
from xkg.store.neo4j.db.connection import Connection
from xkg.store.rows import NODES

SCHEMA = 7
"""The number of this version's schema."""
MIGRATE = "run `xkg store migrate`"
_AWAIT_SECONDS = 600
_AT_ONCE = 20
_STATE = (
    "MATCH (m:XkgMeta {id: 'graph'}) "
    "RETURN m.graph AS graph, m.generation AS generation, m.schema AS schema, m.model AS model, "
    "m.connected AS connected, m.forgotten AS forgotten"
)
# Concurrent migrations would give the graph different names, but the constraint allows only one.
_RECORD = (
    "MERGE (m:XkgMeta {id: 'graph'}) "
    "ON CREATE SET m.graph = $graph, m.generation = 0, m.model = '', m.connected = 0, m.forgotten = 0, m.schema = 0 "
    "WITH m SET m.schema = CASE WHEN m.schema < $schema THEN $schema ELSE m.schema END"
)
_NOT_ONLINE = "SHOW INDEXES YIELD name, state WHERE state <> 'ONLINE' RETURN name + ': ' + toLower(state)"
_OCCUPIED = f"MATCH (n:{'|'.join((*NODES, 'XkgBundle'))}) RETURN n.id AS id LIMIT 1"


class State(NamedTuple):
    """The content of the `(:XkgMeta)` node. The node stores the graph's name, the numbers of its last commit and last
    migration, and the embedding model for its links. The node also stores the last linked commit, and the first commit
    with tombstones. All fields are zero or empty if there is no graph."""

    graph: str = ""
    generation: int = 0
    schema: int = 0
    model: str = ""
    connected: int = 0
    forgotten: int = 0


def read_state(transaction: neo4j.ManagedTransaction) -> State:
    record = transaction.run(_STATE).single()
    return State() if record is None else State(**record.data())


def require_schema(state: State, connection: Connection) -> State:
    """Returns `state` if this version of xkg supports the graph's schema. Otherwise, raises `SchemaVersionError` with a
    remedy."""
    if state.graph and state.schema != SCHEMA:
        remedy = "upgrade xkg" if state.schema > SCHEMA else f"back up the graph, then {MIGRATE}"
        raise SchemaVersionError(
            f"the graph at {connection.address} has schema {state.schema}, but this version of xkg needs {SCHEMA}; "
            f"{remedy}"
        )
    return state


def migrate(connection: Connection) -> list[str]:
    """Migrates the graph to this version's schema. In an empty database, the schema is created. Returns the names of
    the migrations that were applied.

    Raises `SchemaVersionError` if the graph was written by a newer version of xkg, and `StoreError` if the database
    contains anything else."""
    state = connection.read(read_state)
    if state.schema >= SCHEMA:
        require_schema(state, connection)
        return []
    if not state.graph:
        _require_empty(connection)
    (path,) = (named_queries.folder() / "schema" / "neo4j").glob(f"{SCHEMA:03}-*.cypher")
    text = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    _apply(connection, [part.strip() for part in re.split(r";\s*(?:\n|$)", text) if part.strip()])
    _await_indexes(connection)
    values = {"graph": uuid.uuid4().hex, "schema": SCHEMA}
    connection.write(lambda transaction: transaction.run(_RECORD, values).consume())
    return [path.stem]


def migrate_graph(settings: Settings) -> list[str]:
    """Runs `migrate` on the configured graph. Raises `ConfigError` if the graph is not on Neo4j."""
    if settings.store.url is None:
        raise ConfigError("this graph is in a folder, which needs no migration; to use Neo4j, set store.url")
    with closing(Connection(settings.store)) as connection:
        return migrate(connection)


def prepare(connection: Connection) -> State:
    """Returns the graph's state before writing. Creates the schema if there is no graph, even if another process does
    so at the same time. Raises the same errors as `migrate`, and `SchemaVersionError` if the schema is outdated."""
    state = connection.read(read_state)
    if not state.graph:
        migrate(connection)
        state = connection.read(read_state)
    return require_schema(state, connection)


def _apply(connection: Connection, statements: Sequence[str]) -> None:
    """Runs the statements. Retries if another process created the same object at the same time."""

    def run(transaction: neo4j.ManagedTransaction) -> None:
        for statement in statements:
            transaction.run(statement).consume()

    for attempt in range(_AT_ONCE):
        try:
            return connection.write(run)
        except StoreError as error:
            code = error.__cause__.code if isinstance(error.__cause__, Neo4jError) else ""
            if not code.endswith("AlreadyExists") or attempt == _AT_ONCE - 1:
                raise
        time.sleep(0.1)
    return None


def _await_indexes(connection: Connection) -> None:
    """Polls until all indexes are online. `db.awaitIndexes` could deadlock, because it holds locks while waiting.
    Another process may be waiting for these locks in a transaction that prevents an index from coming online.

    Raises `StoreError` if an index fails, or after ten minutes."""
    end = time.monotonic() + _AWAIT_SECONDS
    while waiting := connection.read(lambda transaction: transaction.run(_NOT_ONLINE).value()):
        if time.monotonic() > end or any(each.endswith(": failed") for each in waiting):
            raise StoreError(f"indexes at {connection.address} did not come online: {', '.join(waiting)}")
        time.sleep(0.05)


def _require_empty(connection: Connection) -> None:
    found = connection.read(lambda transaction: transaction.run(_OCCUPIED).single())
    if found is not None:
        raise StoreError(
            f"database {connection.database!r} at {connection.address} contains nodes from another program; set "
            "store.database to a separate database for xkg, or empty this database"
        )
