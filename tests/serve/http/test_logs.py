"""Spans go where the environment says, and nowhere without it."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PROGRAM = """
from opentelemetry import trace
from xkg.serve.http import logs
stop = logs.start()
with trace.get_tracer("mcp-python-sdk").start_as_current_span("tools/call get_code"): pass
stop()
"""


def traced(**environment: str) -> list[tuple[str, bytes]]:
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        given = {name: value.format(port=server.server_port) for name, value in environment.items()}
        subprocess.run([sys.executable, "-c", PROGRAM], check=True, env={**os.environ, **given}, timeout=60)
        server.shutdown()
    return got


def test_spans_are_sent_to_the_endpoint_of_the_environment() -> None:
    ((path, body),) = traced(
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:{port}", OTEL_EXPORTER_OTLP_COMPRESSION="none"
    )
    assert path == "/v1/traces"
    assert b"tools/call get_code" in body
    assert b"xkg" in body


def test_nothing_is_sent_where_nothing_is_set() -> None:
    assert traced() == []
    assert traced(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:{port}", OTEL_SDK_DISABLED="true") == []
