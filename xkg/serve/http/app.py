"""The HTTP server as an ASGI app: MCP at /mcp with authentication and limits, plus health checks and metrics."""

import functools
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.transport_security import TransportSecuritySettings
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from xkg.config import Settings
from xkg.errors import CorruptStoreError, ModelMismatchError, SchemaVersionError, StoreUnreachableError, XkgError
from xkg.serve.http.access import Access
from xkg.serve.http.hosts import KnownHosts, reached_by_others
from xkg.serve.http.limits import BodyLimit, Gate, RateLimit, refuse, too_often
from xkg.serve.http.metrics import Metrics
from xkg.serve.http.oauth import issuer_of
from xkg.serve.http.request_log import Observed, observing
from xkg.serve.http.tokens import SCOPES, Tokens
from xkg.serve.jobs.authority import ADMIN
from xkg.serve.protocol.completion import add_completion
from xkg.serve.protocol.mcp_server import add_all
from xkg.serve.protocol.stdio import instructions
from xkg.serve.protocol.tool_errors import PlainErrors
from xkg.serve.served import Served
from xkg.serve.service import Service

log = logging.getLogger(__name__)

MCP_PATH = "/mcp"
OPEN_SECONDS = 5.0
READY_SECONDS = 1.0
NEEDED = ["read"]
THREADS_BESIDE = 8
"""Extra threads for work that must not wait for tools: fetching an issuer's keys, readiness checks and metrics."""

_UNREADY: Mapping[type[XkgError], str] = {
    StoreUnreachableError: "the graph's server does not answer",
    SchemaVersionError: "the graph was stored by another version of xkg",
    CorruptStoreError: "a stored file is damaged",
    ModelMismatchError: "the indexes were built with another embedding model",
}


LARGEST_BODY = 1 << 20
"""Maximum size of a request body in bytes."""


class Beside(NamedTuple):
    """Additional routes, which handle their own authentication. `warm` prepares the routes for the first request."""

    routes: Sequence[BaseRoute]
    warm: Callable[[], None]


Pages = Callable[[Settings, Served, Access], Beside]


def make_app(settings: Settings, bound: str, url: str, served: Served, pages: Pages | None = None) -> ASGIApp:
    """Returns the app for a server that is bound to the host `bound` and that clients reach at `url`. `pages` adds web
    pages for people. The app closes the graph and the jobs on shutdown. Raises `ConfigError` if settings conflict."""
    service, jobs = served.service, served.jobs
    http = settings.serve.http
    closed = reached_by_others(http, bound)
    access = Access(Tokens(settings.kg), issuer_of(settings.serve.oauth, url), closed, served.graphs)
    metrics = Metrics(service.state)
    server = _mcp_server(served, metrics)
    mcp: ASGIApp = server.session_manager.handle_request
    mcp = BodyLimit(Gate(mcp, http.concurrency, http.queue), LARGEST_BODY, http.request_seconds)
    metadata = build_resource_metadata_url(AnyHttpUrl(url)) if settings.serve.oauth.issuer else None
    guarded = functools.partial(_Guarded, access=access, per_minute=http.per_minute, metadata=metadata)
    routes: list[BaseRoute] = [
        Route(MCP_PATH, guarded(mcp), methods=["POST"]),
        Route("/metrics", guarded(_MetricsText(metrics)), methods=["GET"]),
        Route("/healthz", _healthz, methods=["GET"]),
        Route("/readyz", _Ready(service), methods=["GET"]),
    ]
    if settings.serve.oauth.issuer is not None:
        issuer = AnyHttpUrl(settings.serve.oauth.issuer)
        # Clients request all scopes listed here from their issuer, so `admin` is not listed.
        offered: list[str] = [scope for scope in SCOPES if scope != ADMIN]
        routes += create_protected_resource_routes(AnyHttpUrl(url), [issuer], offered)

    beside = pages(settings, served, access) if pages is not None else None
    routes += beside.routes if beside is not None else ()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        limiter = anyio.to_thread.current_default_thread_limiter()
        limiter.total_tokens = http.concurrency + THREADS_BESIDE
        service.warm_beside(beside.warm if beside is not None else None)
        if jobs is not None:
            jobs.start()
        try:
            async with server.session_manager.run():
                yield
        finally:
            if jobs is not None:
                jobs.close()
            service.close()

    middleware = [
        Middleware(Observed, metrics=metrics),
        Middleware(KnownHosts, bound=bound, names=(*http.hosts, urlsplit(url).hostname or ""), origins=http.origins),
    ]
    if http.origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=http.origins,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=["mcp-session-id", "www-authenticate", "x-request-id", "retry-after"],
            )
        )
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)


def _mcp_server(served: Served, metrics: Metrics) -> MCPServer:
    """Returns a stateless MCP server, so any worker can answer any request. The host and size of a request have already
    been checked before the request reaches this server."""
    server = PlainErrors(instructions=instructions(served), subscriptions=False)
    add_completion(server, served.service)
    add_all(server, served)
    server.middleware.append(observing(metrics, server))
    server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return server


class _Guarded:
    """Requires a token with the `read` scope, unless no token has ever been created, and limits each caller's request
    rate.

    Requests without a valid token count towards the limit of their IP address. Once an address exceeds the limit, only
    tokens that are cheap to check are checked, and all other requests are rejected. Callers with valid tokens can
    therefore get through even if the same proxy forwards a flood of forged tokens."""

    def __init__(self, app: ASGIApp, access: Access, per_minute: int, metadata: AnyHttpUrl | None) -> None:
        self._access = access
        self._open = RateLimit(app, per_minute)
        self._limited = RateLimit(RequireAuthMiddleware(app, NEEDED, metadata), per_minute)
        self._closed = AuthenticationMiddleware(AuthContextMiddleware(self._limited), backend=BearerAuthBackend(access))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._access.required():
            await self._open(scope, receive, send)
        elif (wait := self._limited.wait(scope)) and not self._access.is_cheap(_bearer(scope)):
            await too_often(scope, receive, send, wait)
        else:
            await self._closed(scope, receive, send)


def _bearer(scope: Scope) -> str:
    """Returns the request's bearer token, or '' if there is none."""
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    kind, _, token = header.decode("latin-1").partition(" ")
    return token if kind.lower() == "bearer" else ""


class _MetricsText:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        text = await anyio.to_thread.run_sync(self._metrics.text)
        await Response(text, media_type=CONTENT_TYPE_LATEST)(scope, receive, send)


async def _healthz(_: Request) -> Response:
    return JSONResponse({"status": "alive"})


class _Ready:
    """Reports whether the graph can be read, checking at most once a second. Callers are anonymous, so paths are only
    logged."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._looking = anyio.CapacityLimiter(1)  # limits a slow check to one thread
        self._looked = -READY_SECONDS
        self._reason: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with anyio.fail_after(OPEN_SECONDS):
                reason = await anyio.to_thread.run_sync(self._look, abandon_on_cancel=True, limiter=self._looking)
        except TimeoutError:
            reason = "the graph is taking a long time to open"
        if reason is None:
            await JSONResponse({"status": "ready"})(scope, receive, send)
        else:
            await refuse(scope, receive, send, 503, "unready", reason)

    def _look(self) -> str | None:
        if time.monotonic() - self._looked >= READY_SECONDS:
            try:
                self._service.state()
                self._reason = None
            except XkgError as error:
                log.warning("not ready: %s", error)
                reasons = (words for kind, words in _UNREADY.items() if isinstance(error, kind))
                self._reason = next(reasons, "there is no graph yet")
            self._looked = time.monotonic()
        return self._reason
