"""Reports Neo4j's version, edition, permissions, latency and the graph's position, for `xkg doctor`."""

import statistics
import time
from contextlib import closing

import neo4j
from neo4j.exceptions import Forbidden, ForbiddenOnReadOnlyDatabase, NotALeader

from xkg.config import StoreSettings
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import MIGRATE, SCHEMA, read_state

_PINGS = 7
_PROBE = "xkg_doctor_probe"


def examine(settings: StoreSettings) -> str:
    """Returns a line about Neo4j. Raises the same errors as `Connection`."""
    with closing(Connection(settings)) as connection:
        edition = connection.read(
            lambda transaction: transaction.run("CALL dbms.components() YIELD edition RETURN edition LIMIT 1").value()
        )
        return "; ".join(
            [
                f"{connection.version} {edition[0] if edition else 'of unknown edition'}",
                f"database {connection.database}, user {connection.user} {_rights(connection)}",
                f"latency {_latency(connection):.1f} ms",
                _graph(connection),
            ]
        )


def _latency(connection: Connection) -> float:
    times = []
    with connection.explaining(), connection.driver.session(database=connection.database) as session:
        for _ in range(_PINGS):
            begin = time.perf_counter()
            session.run("RETURN 1").consume()
            times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1000


def _rights(connection: Connection) -> str:
    """Describes the user's permissions, which are tested with transactions that are rolled back."""
    if not _may(connection, f"CREATE (n:{_PROBE}) SET n.id = 'probe'"):
        return "read-only: enough to serve, but builds need write access"
    if not _may(connection, f"CREATE CONSTRAINT {_PROBE} IF NOT EXISTS FOR (n:{_PROBE}) REQUIRE n.id IS UNIQUE"):
        return "can read and write but not create constraints: `xkg store migrate` needs a user who can"
    return "can read, write and create constraints"


def _may(connection: Connection, statement: str) -> bool:
    with (
        connection.explaining(),
        connection.driver.session(database=connection.database, default_access_mode=neo4j.WRITE_ACCESS) as session,
        session.begin_transaction() as transaction,
    ):
        try:
            transaction.run(statement).consume()
        except (Forbidden, ForbiddenOnReadOnlyDatabase, NotALeader):
            return False
        transaction.rollback()
        return True


def _graph(connection: Connection) -> str:
    state = connection.read(read_state)
    if not state.graph:
        return "no graph yet: the first build or import creates it"
    remedy = "" if state.schema == SCHEMA else f" ({MIGRATE})" if state.schema < SCHEMA else " (upgrade xkg)"
    return f"schema {state.schema} of {SCHEMA}{remedy}, counter {state.generation}"
