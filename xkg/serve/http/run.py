"""Runs the HTTP server: binds an address, starts one or more worker processes, and shuts down gracefully."""

import asyncio
import functools
import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from xkg.config import Settings
from xkg.errors import ConfigError
from xkg.operating_system import files_allowed, share_one_heap
from xkg.serve.allowed_folders import open_roots
from xkg.serve.http import logs
from xkg.serve.http.hosts import is_loopback, reached_by_others
from xkg.serve.http.metrics import SHARED
from xkg.serve.http.tokens import Tokens
from xkg.serve.jobs.jobs import check_bounds

log = logging.getLogger(__name__)

BACKLOG = 2048
WORKER_SECONDS = 60
"""How long a worker may be unresponsive before it is replaced. Imports on a busy machine can take most of this time."""

SHUTDOWN_SECONDS = 10
"""How long in-flight calls may take to finish when the server shuts down."""
SPARE_FILES = 256
"""Number of file descriptors reserved for the graph and its indexes."""

CLOSING_SECONDS = 20.0
"""How long the server may take to close after `SHUTDOWN_SECONDS`. Closing indexes and models can be slow on a busy
machine."""


MakeApp = Callable[[Settings, str, str], ASGIApp]
"""Creates the app from settings, the host that the server is bound to, and the URL for clients."""


def serve_http(
    settings: Settings,
    address: str,
    make_app: MakeApp,
    workers: int = 1,
    level: logs.Level = "info",
    bound: Callable[[str], None] = lambda _: None,
) -> None:
    """Serves the graph in `settings` at `address`, such as `127.0.0.1:8321`, until SIGTERM or SIGINT. Port 0 selects a
    free port. The URL is logged and passed to `bound`.

    Raises `ConfigError` if the address cannot be bound or can be reached from other machines without a token, if builds
    are allowed without limits, or if settings conflict."""
    host, port = parse(address)
    _refuse_the_open(settings, host)
    open_roots(settings.serve.roots or ())
    if settings.serve.build.allowed:
        check_bounds(settings)
    listener = _bind(host, port)
    name = f"[{host}]" if ":" in host else host
    url = settings.serve.http.url or f"http://{name}:{listener.getsockname()[1]}/mcp"
    logs.configure(level)
    config = uvicorn_config(functools.partial(_process, make_app, settings, host, url, level), settings, workers)
    facts = {"url": url, "pid": os.getpid(), "workers": workers}
    log.info("listening", extra={"facts": facts})
    bound(url)
    if url.startswith("http:") and not is_loopback(host):
        log.warning("tokens are sent unencrypted; put a TLS proxy in front, and set serve.http.url to its address")
    with listener:
        if workers == 1:
            server = uvicorn.Server(config)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, functools.partial(_end, server))
            server.run([listener])
        else:
            with tempfile.TemporaryDirectory(prefix="xkg-metrics-") as folder:
                os.environ[SHARED] = folder
                Multiprocess(config, [listener]).run()
    log.info("stopped", extra={"facts": {"pid": os.getpid()}})


def parse(address: str) -> tuple[str, int]:
    """Parses `HOST:PORT` or `[HOST]:PORT`. Raises `ConfigError` if the address is invalid."""
    host, _, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not host or not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(f"--http {address!r} is not an address; use HOST:PORT, such as 127.0.0.1:8321 or [::1]:8321")
    return host, int(port)


def _refuse_the_open(settings: Settings, host: str) -> None:
    if not reached_by_others(settings.serve.http, host):
        return
    if settings.serve.oauth.issuer is not None:
        if settings.serve.http.url is None:
            raise ConfigError("serve.oauth needs the address that clients use; set serve.http.url, https://HOST/mcp")
    elif not Tokens(settings.kg).valid():
        raise ConfigError(
            f"{settings.serve.http.url or host} can be reached from other machines, but no token would be required; "
            "run `xkg token create NAME`, or set serve.oauth.issuer, or serve only on 127.0.0.1"
        )


def _bind(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address, family=family, backlog=BACKLOG)
        # Connections inherit this option, which asyncio sets only on sockets that it creates itself. Without this
        # option, the second half of a response was delayed by 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise ConfigError(f"{host}:{port} cannot be served ({error.strerror}); choose another --http") from error


def uvicorn_config(make: Callable[[], ASGIApp], settings: Settings, workers: int) -> uvicorn.Config:
    return uvicorn.Config(
        make,
        factory=True,
        http=Connection,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # otherwise, local callers could forge their addresses
        server_header=False,
        backlog=BACKLOG,
        workers=workers,
        limit_concurrency=_room(settings.serve.http.connections),
        timeout_keep_alive=max(1, round(settings.serve.http.request_seconds)),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=WORKER_SECONDS,
    )


def _room(most: int) -> int:
    """Returns how many connections this process can have open, up to `most`. Raises the process's limit on open files
    if necessary."""
    files = files_allowed(most + SPARE_FILES)
    return most if files is None else max(1, min(most, files - SPARE_FILES))


def _process(make_app: MakeApp, settings: Settings, host: str, url: str, level: logs.Level) -> ASGIApp:
    """Returns the app for a worker process, with logs and traces. The process exits when its parent exits."""
    logs.configure(level)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="parent", daemon=True).start()
    share_one_heap()
    app, stop_tracing = make_app(settings, host, url), logs.start()

    async def process(scope: Scope, receive: Receive, send: Send) -> None:
        async def watched() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                threading.Thread(target=_end_in_time, name="end", daemon=True).start()
            return message

        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        await app(scope, watched, send)
        stop_tracing()

    return process


def _end_in_time() -> None:
    """Ends the process even if a call that cannot be cancelled is still running."""
    time.sleep(CLOSING_SECONDS)
    log.warning("the server did not close in time")
    os._exit(0)


def _end_with(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _end(server: uvicorn.Server, _number: int, _frame: Any) -> None:
    """Stops a server that receives a signal before uvicorn handles signals. uvicorn re-raises the signal afterwards."""
    server.should_exit = True


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with a timeout for request heads. Closes a connection if the head of a request has
    not arrived within `timeout_keep_alive`. By default, uvicorn waits forever, so idle connections could use up all
    slots."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._deadline is not None and self.cycle is not None and not self.cycle.response_complete:
            self._deadline.cancel()

    def on_response_complete(self) -> None:
        self._await_request()  # runs before the next pipelined request begins
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _await_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(self.timeout_keep_alive, self._expire)

    def _expire(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
