"""Creates the HTTP server's ASGI app, which serves MCP at /mcp with authentication and limits, health checks, and
metrics."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
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
from xkg.errors import EmptyGraphError, XkgError
from xkg.serve.http.hosts import known_hosts, reached_by_others
from xkg.serve.http.limits import RateLimit, body_limit, gate, too_often
from xkg.serve.http.metrics import Metrics, observed, observing
from xkg.serve.http.oauth import Access, bearer, issuer_of
from xkg.serve.http.tokens import SCOPES, Tokens
from xkg.serve.jobs.authority import ADMIN
from xkg.serve.protocol.completion import add_completion
from xkg.serve.protocol.jsonrpc import WrongMessageError, parsed_message
from xkg.serve.protocol.mcp_server import add_all
from xkg.serve.protocol.stdio import instructions
from xkg.serve.protocol.tool_errors import PlainErrors
from xkg.serve.served import Served
from xkg.serve.service import Service

log = logging.getLogger(__name__)

MCP_PATH = "/mcp"
OPEN_SECONDS = 5.0
NEEDED = ["read"]
THREADS_BESIDE = 8
"""Extra threads for work that must not wait for tools, such as fetching an issuer's keys, readiness checks and
metrics."""

LARGEST_BODY = 1 << 20
"""Maximum size of a request body in bytes."""


class Beside(NamedTuple):
    """Additional routes that handle authentication themselves. `warm` prepares them for the first request."""

    routes: Sequence[BaseRoute]
    warm: Callable[[], None]


Handler = Callable[[Request], Awaitable[Response]]
Pages = Callable[[Settings, Served, Access], Beside]


def make_app(settings: Settings, bound: str, url: str, served: Served, pages: Pages | None = None) -> ASGIApp:
    """Returns the app for a server that listens on the host `bound`. Clients reach the server at `url`. `pages` adds
    web pages for people. The app closes the graph and the jobs on shutdown. Raises `ConfigError` if settings
    conflict."""
    service, jobs = served.service, served.jobs
    http = settings.serve.http
    closed = reached_by_others(http, bound)
    access = Access(Tokens(settings.kg), issuer_of(settings.serve.oauth, url), closed, served.graphs)
    metrics = Metrics(service.state)
    server = _mcp_server(served, metrics)
    metadata = build_resource_metadata_url(AnyHttpUrl(url)) if settings.serve.oauth.issuer else None
    guarded = Middleware(_guarded, access=access, per_minute=http.per_minute, metadata=metadata)
    limits = [
        Middleware(body_limit, most=LARGEST_BODY, seconds=http.request_seconds, check=_not_a_message),
        Middleware(gate, at_work=http.concurrency, waiting=http.queue),
    ]
    mcp = StreamableHTTPASGIApp(server.session_manager)
    routes: list[BaseRoute] = [
        Route(MCP_PATH, mcp, methods=["POST"], middleware=[guarded, *limits]),
        Route("/metrics", _metrics(metrics), methods=["GET"], middleware=[guarded]),
        Route("/healthz", _healthz, methods=["GET"]),
        Route("/readyz", _ready(service), methods=["GET"]),
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
        Middleware(observed, metrics=metrics),
        Middleware(known_hosts, bound=bound, names=(*http.hosts, urlsplit(url).hostname or ""), origins=http.origins),
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


def _not_a_message(body: bytes) -> Response | None:
    try:
        parsed_message(body)
    except WrongMessageError as error:
        return JSONResponse(error.answer.model_dump(exclude_none=True) | {"id": error.answer.id}, 400)
    return None


def _guarded(app: ASGIApp, access: Access, per_minute: int, metadata: AnyHttpUrl | None) -> ASGIApp:
    """Requires a token with the `read` scope, unless no token has ever been created, and limits each caller's request
    rate.

    Requests without a valid token count towards the limit of their IP address. Once an address exceeds the limit, only
    tokens that are cheap to check are checked, and all other requests are rejected. Callers with valid tokens can
    therefore get through even if the same proxy forwards a flood of forged tokens."""
    open_to_all = RateLimit(app, per_minute)
    limited = RateLimit(RequireAuthMiddleware(app, NEEDED, metadata), per_minute)
    closed = AuthenticationMiddleware(AuthContextMiddleware(limited), backend=BearerAuthBackend(access))

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if not access.required():
            await open_to_all(scope, receive, send)
        elif (wait := limited.wait(scope)) and not access.is_cheap(bearer(scope)):
            await too_often(scope, receive, send, wait)
        else:
            await closed(scope, receive, send)

    return guarded


def _metrics(metrics: Metrics) -> Handler:
    async def answer(_: Request) -> Response:
        return Response(await anyio.to_thread.run_sync(metrics.text), media_type=CONTENT_TYPE_LATEST)

    return answer


async def _healthz(_: Request) -> Response:
    return JSONResponse({"status": "alive"})


def _ready(service: Service) -> Handler:
    """Reports whether the graph can be read. Callers are anonymous, so paths are only logged. Only one thread at a time
    opens the graph."""
    one_thread = anyio.CapacityLimiter(1)

    def problem() -> str | None:
        try:
            service.state()
        except EmptyGraphError:
            return "there is no graph yet"
        except XkgError as error:
            log.warning("not ready: %s", error)
            return "the graph cannot be read; see the server's log"
        return None

    async def answer(_: Request) -> Response:
        try:
            with anyio.fail_after(OPEN_SECONDS):
                reason = await anyio.to_thread.run_sync(problem, abandon_on_cancel=True, limiter=one_thread)
        except TimeoutError:
            reason = "the graph is taking a long time to open"
        if reason is None:
            return JSONResponse({"status": "ready"})
        return JSONResponse({"error": "unready", "error_description": reason}, 503)

    return answer
