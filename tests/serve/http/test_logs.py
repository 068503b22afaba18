"""Checks that spans are sent where the environment says, and nowhere by default."""

import os
import subprocess
import sys

from tests.loopback import QuietHandler, Served

PROGRAM = """
from opentelemetry import trace
from xkg.serve.http import logs
stop = logs.start()
with trace.get_tracer("mcp-python-sdk").start_as_current_span("tools/call get_code"): pass
stop()
"""


def traced(**environment: str) -> list[tuple[str, bytes]]:
    got: list[tuple[str, bytes]] = []

    class Collector(QuietHandler):
        protocol_version = "HTTP/1.0"

        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

    with Served(Collector) as server:
        given = {name: value.format(url=server.url) for name, value in environment.items()}
        subprocess.run([sys.executable, "-c", PROGRAM], check=True, env={**os.environ, **given}, timeout=60)
    return got


def test_spans_are_sent_to_the_endpoint_of_the_environment() -> None:
    ((path, body),) = traced(OTEL_EXPORTER_OTLP_ENDPOINT="{url}", OTEL_EXPORTER_OTLP_COMPRESSION="none")
    assert path == "/v1/traces"
    assert b"tools/call get_code" in body
    assert b"xkg" in body


def test_nothing_is_sent_where_nothing_is_set() -> None:
    assert traced() == []
    assert traced(OTEL_EXPORTER_OTLP_ENDPOINT="{url}", OTEL_SDK_DISABLED="true") == []
