"""Runs untrusted Cypher in a process that opens the graph read-only, then drops access to files and the network.

`xkg.store.cypher.process` runs this module as a standalone script, so it imports only a small part of xkg. Messages are
JSON objects, one per line. The input is `{statement, parameters, rows, bytes}`, and the output is `{columns, rows,
truncated}` or `{error}`. The first output line says how the process is sandboxed. No statement can give the process its
permissions back."""

import datetime
import decimal
import json
import math
import os
import sys
import uuid
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[3]))

from xkg.sandbox.guest import landlock

if sys.platform != "win32":  # on Windows, the graph is only protected by the guard and the read-only handle
    import resource

BUFFER_POOL = 256 << 20
EXTRA_MEMORY = 1 << 30
LARGEST_GRAPH = 1 << 36


def deny_files_and_network() -> int:
    """Denies this process access to all paths and, with Landlock ABI 4 or later, to TCP. Returns the active ABI, or 0
    if Landlock is not available."""
    version = landlock.version()
    try:
        if version:
            landlock.restrict(version, ())
    except OSError:
        return 0
    return version


def limit_resources() -> None:
    """Disables core dumps and file writes, and limits memory."""
    if sys.platform == "win32":
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if sys.platform.startswith("linux"):
        with open("/proc/self/statm") as file:  # noqa: PTH123
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + EXTRA_MEMORY, used + EXTRA_MEMORY))


def open_nothing_more() -> None:
    """Prevents new file descriptors from being created, so that no files or sockets can be opened, even without
    Landlock. The process can still create folders."""
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def plain(value: Any) -> Any:
    """Converts an engine's value to JSON. Nodes and relationships become their properties with `_label` and `_id`."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        if set(value) == {"offset", "table"}:
            return f"{value['table']}:{value['offset']}"
        if "_LABEL" in value:  # the engine adds null properties from other labels that could match the pattern
            value = {k: v for k, v in value.items() if v is not None}
        return {(k.lower() if k in _INTERNAL else str(k)): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return str(value) if isinstance(value, uuid.UUID) else repr(value)


_INTERNAL = frozenset(["_ID", "_LABEL", "_SRC", "_DST", "_NODES", "_RELS"])


def answer(connection: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Runs one request and returns the resulting table. The table ends before the first row that would exceed a
    limit."""
    from ladybug.prepared_statement import PreparedStatement

    # The statement is prepared without its parameters.
    # The engine then accepts only a single statement, and the client does not insert parameters into the text.
    statement = PreparedStatement(connection, request["statement"])
    if not statement.is_success():
        return {"error": statement.get_error_message()}
    result = connection.execute(statement, request["parameters"])
    try:
        rows: list[Any] = []
        size = 0
        truncated = False
        while result.has_next():
            row = [plain(value) for value in result.get_next()]
            size += len(json.dumps(row))
            if len(rows) >= request["rows"] or size > request["bytes"]:
                truncated = True
                break
            rows.append(row)
        return {"columns": result.get_column_names(), "rows": rows, "truncated": truncated}
    finally:
        result.close()


def main(graph: str, confine: bool) -> None:
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # keeps the engine's own output separate from the answers
        os.dup2(nothing, descriptor)

    def send(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    import ladybug

    try:
        database = ladybug.Database(
            graph, read_only=True, buffer_pool_size=BUFFER_POOL, max_db_size=LARGEST_GRAPH, max_num_threads=2
        )
        connection = ladybug.Connection(database)
        answer(connection, {"statement": "RETURN 1 AS warm", "parameters": {}, "rows": 1, "bytes": 100})
    except Exception as error:
        send({"error": str(error)})
        return
    version = 0
    if confine:
        limit_resources()
        version = deny_files_and_network()
        open_nothing_more()
    send({"landlock": version})
    for line in requests:
        request = json.loads(line)
        connection.set_query_timeout(int(request["seconds"] * 1000))
        try:
            send(answer(connection, request))
        except MemoryError:
            send({"error": "out of memory"})
        except Exception as error:
            send({"error": str(error)})


if __name__ == "__main__":
    main(sys.argv[1], confine="--unconfined" not in sys.argv[2:])
