"""Runs untrusted queries in a process that opens the graph read-only and has no access to files or the network."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xkg.errors import QueryFailedError
from xkg.store.cypher.parameters import checked_parameters, failure, one_line, overran
from xkg.store.cypher.suggestions import suggestion
from xkg.store.graph_store import Table

_WORKER = Path(__file__).with_name("worker.py")
_STARTING_SECONDS = 30.0
_GRACE_SECONDS = 1.0
_LEAST_SECONDS = 0.05
_OUT_OF_MEMORY = ("out of memory", "bad_alloc", "Unable to allocate memory")


class QueryProcess:
    """A worker process for one graph. The worker is started by the first query, and restarted if it had to be killed.

    Thread-safe. Queries run one at a time."""

    def __init__(self, graph: Path, *, confine: bool = True) -> None:
        self._graph = graph
        self._confine = confine
        self._lock = threading.Lock()
        self._worker: subprocess.Popen[bytes] | None = None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader: threading.Thread | None = None
        self.landlock: int | None = None

    def start(self) -> None:
        """Starts the worker if it is not running, so that the first query need not wait for it. Raises
        `QueryFailedError` if the worker cannot be started."""
        with self._lock:
            self._start()

    def run(
        self,
        statement: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        rows: int = 1000,
        seconds: float = 10,
        bytes: int = 1_000_000,
    ) -> Table:
        """Runs a statement that has passed the guard. Returns at most `rows` rows, and about `bytes` bytes of JSON at
        most.

        Values are plain JSON. Nodes and relationships are represented by their properties with `_label` and `_id`.
        `seconds` includes the time spent waiting for other queries, but not the time for starting the worker. Raises
        `QueryFailedError` if the query fails or times out."""
        until = time.monotonic() + seconds
        request = {
            "statement": statement,
            "parameters": checked_parameters(parameters or {}),
            "rows": rows,
            "bytes": bytes,
        }
        if not self._lock.acquire(timeout=seconds):
            raise QueryFailedError(
                f"other queries were still running after {seconds:g} s; try again when they have finished"
            )
        try:
            left = max(_LEAST_SECONDS, until - time.monotonic())
            self._start()
            answer = self._ask({**request, "seconds": left}, left + _GRACE_SECONDS)
        finally:
            self._lock.release()
        if "error" in answer:
            raise _query_error(answer["error"], statement, seconds)
        return Table(
            columns=tuple(answer["columns"]),
            rows=tuple(tuple(row) for row in answer["rows"]),
            truncated=answer["truncated"],
        )

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _start(self) -> None:
        if self._worker is not None and self._worker.poll() is None:
            return
        self._stop()
        command = [sys.executable, "-I", str(_WORKER), str(self._graph)]
        self._worker = subprocess.Popen(
            command if self._confine else [*command, "--unconfined"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ},
        )
        self._lines = queue.SimpleQueue()
        self._reader = threading.Thread(target=_pass_on, args=(self._worker, self._lines), daemon=True)
        self._reader.start()
        ready = self._read(_STARTING_SECONDS)
        if ready is None or "error" in ready:
            self._stop()
            reason = ready["error"] if ready else "it did not start"
            raise QueryFailedError(
                f"the graph cannot be opened for queries: {one_line(reason)}; run `xkg index rebuild`"
            )
        self.landlock = ready["landlock"]

    def _stop(self) -> None:
        worker, self._worker, reader = self._worker, None, self._reader
        if worker is None:
            return
        worker.kill()
        worker.wait()
        if reader is not None:
            reader.join()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        assert self._worker is not None
        assert self._worker.stdin is not None
        try:
            self._worker.stdin.write(json.dumps(request).encode() + b"\n")
            self._worker.stdin.flush()
        except BrokenPipeError:
            self._stop()
            return {"error": "the query engine stopped unexpectedly; try again"}
        answer = self._read(seconds)
        if answer is None:
            ended = self._worker.poll() is not None
            self._stop()
            return {"error": "out of memory" if ended else "Interrupted."}
        return answer

    def _read(self, seconds: float) -> dict[str, Any] | None:
        assert self._worker is not None
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return None
        if line is None:
            self._worker.wait()
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer


def _pass_on(worker: subprocess.Popen[bytes], lines: "queue.SimpleQueue[bytes | None]") -> None:
    """Forwards all lines from the worker, followed by None. Runs in a thread, because Windows cannot wait for pipes."""
    assert worker.stdout is not None
    for line in worker.stdout:
        if line.endswith(b"\n"):
            lines.put(line)
    lines.put(None)


def _query_error(error: str, statement: str, seconds: float) -> QueryFailedError:
    if error.lstrip().startswith("Interrupted"):
        return overran(seconds)
    if any(words in error for words in _OUT_OF_MEMORY):
        return QueryFailedError("the query is too large and ran out of memory; add a LIMIT or match less")
    return failure(error, suggestion(error, statement))
