"""Logs and counts each request, with an id that is also in the response."""

import logging
import re
import secrets
import time
from typing import Any

from mcp.server import MCPServer
from mcp.server.context import ServerMiddleware
from mcp_types.methods import SPEC_CLIENT_METHODS
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xkg.serve.http.limits import caller
from xkg.serve.http.metrics import Metrics

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

    known: set[str] = set()

    async def middleware(ctx: Any, call_next: Any) -> Any:
        if ctx.method != "tools/call":
            call = ctx.method if ctx.method in SPEC_CLIENT_METHODS else "other"
            _record(ctx, call=call)
            return await call_next(ctx)
        if not known:
            known.update(tool.name for tool in await server.list_tools())
        named = (ctx.params or {}).get("name")
        tool = named if isinstance(named, str) and named in known else "unknown"
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
