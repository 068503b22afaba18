"""Counts and logs requests. Metrics are in Prometheus format, and include counts, durations and sizes, but no request
contents or callers."""

import logging
import os
import re
import secrets
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.context import ServerMiddleware
from mcp_types.methods import SPEC_CLIENT_METHODS
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xkg.errors import XkgError
from xkg.operating_system import runs
from xkg.serve.http.limits import caller

disable_created_metrics()  # type: ignore[no-untyped-call]  # avoids an extra series per metric

SHARED = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable for the folder in which workers share their counts. prometheus_client reads this variable on
import."""

BEGINNING = 40
"""Maximum number of retries while a new worker has not written its counts yet."""

_UP = "Whether the graph can be opened and contains any papers."
SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """Collects this process's metrics. If there are several workers, `text` returns the sums over all workers. `state`
    returns the current generation and its number of papers."""

    def __init__(self, state: Callable[[], tuple[int, int]]) -> None:
        own = CollectorRegistry()
        self.calls = Counter("xkg_calls", "Tool calls, by outcome.", ("tool", "outcome"), registry=own)
        self.seconds = Histogram("xkg_call_seconds", "Duration of calls.", ("tool",), registry=own, buckets=SECONDS)
        self.requests = Counter("xkg_http_requests", "HTTP requests, by response.", ("path", "status"), registry=own)
        self.rejected = Counter("xkg_rejected", "Rejected requests.", ("reason",), registry=own)
        self.in_flight = Gauge(
            "xkg_requests_in_flight", "HTTP requests in progress.", registry=own, multiprocess_mode="livesum"
        )
        self._registry = own
        folder = os.environ.get(SHARED)
        if folder:
            _forget_the_dead(Path(folder))
            self._registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
        self._registry.register(_Graph(state))

    def text(self) -> bytes:
        """Returns the metrics in Prometheus text format. May open the graph, which can take a while."""
        for _ in range(BEGINNING):
            with suppress(struct.error):  # a new worker has created its file but not written to it yet
                return generate_latest(self._registry)
            time.sleep(0.05)
        return generate_latest(self._registry)


class _Graph(Collector):
    def __init__(self, state: Callable[[], tuple[int, int]]) -> None:
        self._state = state

    def collect(self) -> Iterator[GaugeMetricFamily]:
        with suppress(XkgError):
            generation, papers = self._state()
            yield GaugeMetricFamily("xkg_graph_up", _UP, value=1)
            yield GaugeMetricFamily("xkg_generation", "Current generation of the graph.", value=generation)
            yield GaugeMetricFamily("xkg_papers", "Papers in the graph.", value=papers)
            return
        yield GaugeMetricFamily("xkg_graph_up", _UP, value=0)

    def describe(self) -> list[Any]:
        return []  # registration calls this method and must not open the graph


def _forget_the_dead(folder: Path) -> None:
    """Removes gauges left by killed workers."""
    for path in folder.glob("gauge_live*_*.db"):
        pid = path.stem.rpartition("_")[2]
        if pid.isdecimal() and not runs(int(pid)):
            multiprocess.mark_process_dead(int(pid))  # type: ignore[no-untyped-call]


log = logging.getLogger(__name__)

PATHS = frozenset(("/mcp", "/metrics", "/healthz", "/readyz"))
QUIET = frozenset(("/metrics", "/healthz", "/readyz"))
"""Paths that are polled by machines, and therefore logged only at `debug`."""

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_REASONS = {401: "token", 403: "scope"}
"""Reasons why the SDK rejects a request, by status code."""


def observed(app: ASGIApp, metrics: Metrics) -> ASGIApp:
    """Counts and logs requests. A request's id is its X-Request-ID if valid, otherwise a random id."""

    async def observe(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        header = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request_id = header if _ID.fullmatch(header) else secrets.token_hex(8).encode()
        facts: dict[str, Any] = scope.setdefault("state", {})
        status = 499  # the caller has disconnected

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id)]
            await send(message)

        started = time.perf_counter()
        metrics.in_flight.inc()
        try:
            await app(scope, receive, answer)
        finally:
            metrics.in_flight.dec()
            path = scope["path"] if scope["path"] in PATHS else "other"
            metrics.requests.labels(path, str(status)).inc()
            refused = facts.get("refused") or _REASONS.get(status)
            if refused is not None:
                metrics.rejected.labels(refused).inc()
            line: dict[str, Any] = {
                "request_id": request_id.decode(),
                "method": scope["method"],
                "path": path,
                "status": status,
                "ms": round(1000 * (time.perf_counter() - started), 1),
                "caller": caller(scope),
                **{name: facts[name] for name in ("call", "outcome") if name in facts},
                **({} if refused is None else {"refused": refused}),
            }
            log.log(logging.DEBUG if path in QUIET else logging.INFO, "request", extra={"facts": line})

    return observe


def observing(metrics: Metrics, server: MCPServer) -> ServerMiddleware[Any]:
    """Measures tool calls. Stores the method or tool and the outcome in the HTTP request's state."""

    async def middleware(ctx: Any, call_next: Any) -> Any:
        if ctx.method != "tools/call":
            call = ctx.method if ctx.method in SPEC_CLIENT_METHODS else "other"
            _record(ctx, call=call)
            return await call_next(ctx)
        named = (ctx.params or {}).get("name")
        tool = named if isinstance(named, str) and server._tool_manager.get_tool(named) is not None else "unknown"
        outcome = "failed"
        started = time.perf_counter()
        try:
            result = await call_next(ctx)
            failed = result.get("isError") if isinstance(result, dict) else getattr(result, "is_error", False)
            outcome = "error" if failed else "ok"
            return result
        finally:
            metrics.seconds.labels(tool).observe(time.perf_counter() - started)
            metrics.calls.labels(tool, outcome).inc()
            _record(ctx, call=tool, outcome=outcome)

    return middleware


def _record(ctx: Any, **facts: str) -> None:
    if ctx.request is not None:
        ctx.request.scope["state"].update(facts)
