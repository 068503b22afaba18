"""Runs a server over real loopback HTTP, in a thread of the test's process."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
import uvicorn

from xkg.commands.serve import http_app
from xkg.config import (
    EmbeddingSettings,
    HttpSettings,
    LlmSettings,
    OAuthSettings,
    ServeSettings,
    Settings,
)
from xkg.serve.http.limits import Rates
from xkg.serve.http.run import uvicorn_config

SECONDS = 90
"""On a busy machine, workers import their modules slowly, and connections wait for them."""

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Running(NamedTuple):
    base: str
    port: int
    server: uvicorn.Server

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    def client(self, token: str | None = None, **headers: str) -> "Asking":
        given = {**JSON, **headers} if token is None else {**JSON, "authorization": f"Bearer {token}", **headers}
        return Asking(self.base, given)


class Asking(NamedTuple):
    """Sends each request over a separate connection."""

    base: str
    headers: dict[str, str]

    def request(self, method: str, path: str, **given: Any) -> httpx2.Response:
        headers = {name: value.encode("latin-1") for name, value in self.headers.items()}
        with httpx2.Client(base_url=self.base, headers=headers, timeout=SECONDS, verify=False) as client:
            return client.request(method, path, **given)

    def get(self, path: str) -> httpx2.Response:
        return self.request("GET", path)

    def post(self, path: str, **given: Any) -> httpx2.Response:
        return self.request("POST", path, **given)


def rpc(method: str, /, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def call(tool: str, /, **arguments: Any) -> dict[str, Any]:
    return rpc("tools/call", name=tool, arguments=arguments)


PING = rpc("ping")


def without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that start now use a stopped clock for their rate limits, so the limits never refill on a slow
    machine."""
    monkeypatch.setattr(Rates.__init__, "__defaults__", (lambda: 0.0,))


@contextmanager
def running(
    graph: Path,
    http: HttpSettings | None = None,
    oauth: OAuthSettings | None = None,
    *,
    llm: LlmSettings | None = None,
    **more: Any,
) -> Iterator[Running]:
    serve = ServeSettings(http=http or HttpSettings(), oauth=oauth or OAuthSettings(), **more)
    settings = Settings(kg=graph, embedding=EmbeddingSettings(threads=1), serve=serve, llm=llm or LlmSettings())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        base = f"http://127.0.0.1:{port}"
        app = http_app(settings, "127.0.0.1", serve.http.url or f"{base}/mcp")
        server = uvicorn.Server(uvicorn_config(lambda: app, settings, workers=1))
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield Running(base, port, server)
        finally:
            server.should_exit = True
            thread.join(60)
