"""Runs untrusted queries on a Neo4j server. Statements must pass the guard, and run in a read transaction with a
timeout.

The Community edition has no roles, so access to files, the network and procedures is prevented only by the guard.
Writes are also prevented by a READ session and the planner's classification of the statement. The server limits a
transaction's memory (`db.memory.transaction.max`). Clients cannot set a lower limit."""

import json
import logging
import re
import threading
from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Any

import neo4j
from neo4j.exceptions import BrokenRecordError, Neo4jError
from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from xkg.errors import QueryFailedError, QueryRefusedError
from xkg.store.cypher.guard import guard
from xkg.store.cypher.parameters import checked_parameters, failure, overran
from xkg.store.cypher.suggestions import unknown_name
from xkg.store.cypher.worker import plain
from xkg.store.graph_store import Table

log = logging.getLogger(__name__)

_FETCHED = 200
_GRACE_SECONDS = 5.0  # the server checks for timed-out transactions every two seconds
_AT_ONCE = 8
_turns = threading.BoundedSemaphore(_AT_ONCE)

_OVERRAN = ("TransactionTimedOut", "TransactionTimedOutClientConfiguration", "Terminated", "TransactionTerminated")
_TOO_MUCH = ("MemoryPoolOutOfMemoryError", "TransactionOutOfMemoryError", "OutOfMemoryError")
_NOT_OF_THE_QUERY = frozenset(["Security", "Database", "Cluster", "Request"])
_LONGEST_MESSAGE = 240
_OTHER_NOTIFICATIONS = [kind for kind in neo4j.NotificationDisabledClassification if kind.value != "UNRECOGNIZED"]
_UNKNOWN_NAME = ("01N50", "01N51")
"""GQL status codes for a label or relationship type that does not exist in the database."""
_NAME = re.compile(r"`([^`]{1,200})`")
_BEYOND_DATES = "the query returns a date or time outside the years 1 to 9999; apply toString(…) to it"
_MORE_THAN_READS = "query refused: the server classifies it as more than a read"


def read(
    driver: neo4j.Driver,
    database: str,
    statement: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    rows: int = 1000,
    seconds: float = 10,
    bytes: int = 1_000_000,
) -> Table:
    """Runs a read-only statement. Returns at most `rows` rows, and about `bytes` bytes of JSON at most. Values are
    plain JSON, as with the embedded engine. The server stops the transaction after `seconds`.

    Raises `QueryRefusedError` if the statement is not allowed, and `QueryFailedError` if it fails or times out. Also
    raises the driver's errors if the server is unreachable or rejects the login."""
    passed = guard(statement, parameters)
    values = checked_parameters(parameters or {})
    if not _turns.acquire(timeout=seconds):
        raise QueryFailedError(f"{_AT_ONCE} queries are already running; try again when one has finished")
    answer: Future[Table] = Future()
    turn = _Turn()

    def ask() -> None:
        try:
            answer.set_result(_table(driver, database, passed, values, rows, seconds, bytes, turn))
        except BaseException as error:  # re-raised in the caller's thread
            answer.set_exception(error)
        finally:
            turn.end()

    # The server can stop a query only between rows.
    # A query that never reaches the next row must not block its caller or later queries.
    threading.Thread(target=ask, name="xkg query", daemon=True).start()
    wait([answer], timeout=seconds + _GRACE_SECONDS)
    if not answer.done():
        turn.cut()
        raise overran(seconds)
    try:
        return answer.result()
    except Neo4jError as error:
        raise _explained(error, seconds) from None


class _Turn:
    """A slot for a concurrent query, and the query's session. The slot is freed exactly once, when the query ends or
    the caller aborts it."""

    def __init__(self) -> None:
        self._turns = _turns
        self._once = threading.Lock()
        self.session: neo4j.Session | None = None

    def end(self) -> bool:
        """Frees the slot. Returns False if the slot has already been freed."""
        if not self._once.acquire(blocking=False):
            return False
        self._turns.release()
        return True

    def cut(self) -> None:
        """Frees the slot and closes the connection, which stops the thread that reads from it. The server may still be
        running the query."""
        # A session may only be closed by its own thread.
        # The asynchronous driver has a public method for this (`AsyncSession.cancel`).
        if (connection := getattr(self.session, "_connection", None)) is not None:
            connection.kill()
        if self.end():
            log.warning("Neo4j did not stop a query in time: its connection was closed")


def _table(
    driver: neo4j.Driver,
    database: str,
    statement: str,
    parameters: dict[str, Any],
    rows: int,
    seconds: float,
    bytes: int,
    turn: _Turn,
) -> Table:
    with (
        driver.session(
            database=database,
            default_access_mode=neo4j.READ_ACCESS,
            fetch_size=max(1, min(rows + 1, _FETCHED)),
            # Request only notifications about names that do not exist in the database.
            notifications_min_severity="WARNING",
            notifications_disabled_classifications=_OTHER_NOTIFICATIONS,
            # In a cluster, this ensures that the query sees this process's writes.
            bookmark_manager=driver.execute_query_bookmark_manager,
        ) as turn.session,
        turn.session.begin_transaction(timeout=seconds) as transaction,
    ):
        planned = transaction.run(f"EXPLAIN {statement}", parameters).consume()
        if planned.query_type != "r":
            raise QueryRefusedError(_MORE_THAN_READS)
        for status in planned.gql_status_objects:
            found = _NAME.search(status.status_description) if status.gql_status in _UNKNOWN_NAME else None
            if found and (reason := unknown_name(found[1])):
                raise failure(reason)
        result = transaction.run(statement, parameters)
        fetched: list[tuple[Any, ...]] = []
        size = 0
        for record in result:
            try:
                row = tuple(plain(_value(value)) for value in record.values())
            except (BrokenRecordError, ValueError, OverflowError):  # dates after the year 9999 are not supported
                raise QueryFailedError(_BEYOND_DATES) from None
            size += len(json.dumps(row))
            if len(fetched) >= rows or size > bytes:
                return Table(columns=tuple(result.keys()), rows=tuple(fetched), truncated=True)
            fetched.append(row)
        return Table(columns=tuple(result.keys()), rows=tuple(fetched))


def _value(value: Any) -> Any:
    """Converts a driver's value to the form used by the embedded engine. Raises `ValueError` if Python cannot represent
    the value."""
    match value:
        case Node():
            label = next(iter(sorted(value.labels)), "")
            return {"_ID": value.element_id, "_LABEL": label, **_properties(value)}
        case Relationship():
            start, end = (node.element_id if node is not None else None for node in value.nodes)
            own = {"_SRC": start, "_DST": end, "_LABEL": value.type, "_ID": value.element_id}
            return {**own, **_properties(value)}
        case Path():
            return {"_NODES": _value(list(value.nodes)), "_RELS": _value(list(value.relationships))}
        case Point():
            return {"srid": value.srid, "coordinates": list(value)}
        case Duration():
            days = value.months * 30 + value.days
            return days * 86_400.0 + value.seconds + value.nanoseconds / 1e9
        case Date() | DateTime() | Time():
            return value.to_native()
        case list() | tuple():
            return [_value(item) for item in value]
        case dict():
            return {key: _value(item) for key, item in value.items()}
        case None | int() | float() | str() | bytes() | bytearray():
            return value
    raise ValueError(value)  # this is the driver's placeholder for an unreadable value in a list or map


def _properties(entity: Node | Relationship) -> dict[str, Any]:
    return {name: _value(entity[name]) for name in sorted(entity)}


def _explained(error: Neo4jError, seconds: float) -> Exception:
    parts = (error.code or "").split(".")
    if parts[-1] in _OVERRAN:
        return overran(seconds)
    if parts[-1] in _TOO_MUCH:
        return QueryFailedError("the query needs more memory than the server allows; narrow the query")
    if parts[-1] == "AccessMode":
        return QueryRefusedError(_MORE_THAN_READS)
    if _NOT_OF_THE_QUERY.intersection(parts):
        return error
    # The position is omitted because it refers to the rewritten statement. The list of all clauses in the grammar is
    # also omitted.
    message = (error.message or "").split(" (line ")[0]
    return failure(message if len(message) <= _LONGEST_MESSAGE else message.split(": expected")[0][:_LONGEST_MESSAGE])
