"""Starts and ends `xkg serve --http` as a person does, and tests its errors, its log and its workers."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.serve.http_server import JSON, PING, Asking, call
from xkg.commands.serve import http_app
from xkg.config import HttpSettings, ServeSettings, Settings
from xkg.errors import ConfigError
from xkg.sandbox.isolation.watchdog import descendants
from xkg.serve.http.hosts import is_loopback
from xkg.serve.http.run import parse, serve_http
from xkg.serve.http.tokens import Tokens


@contextmanager
def served(
    graph: Path, *options: str, before: str = "", **environment: str
) -> Iterator[tuple[subprocess.Popen[str], Asking]]:
    command = [sys.executable, "-c", f"{before}from xkg.cli.main import main; main()", "--kg", str(graph)]
    process = subprocess.Popen(
        [*command, "serve", "--http", "127.0.0.1:0", *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stderr is not None
        first = json.loads(process.stderr.readline())
        assert first["event"] == "listening"
        yield process, Asking(first["url"].removesuffix("/mcp"), JSON)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=120)


def ended(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Ends the process with SIGTERM and returns its remaining output."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=120)
    return [json.loads(line) for line in said.splitlines()]


SOON = "from xkg.serve.http import run; run.CLOSING_SECONDS = 0.2; run.SHUTDOWN_SECONDS = 0; "


def test_a_call_that_does_not_end_holds_up_no_end(graph: Path) -> None:
    hangs = "import time; from xkg.serve.service import Service; Service.schema = lambda *_, **__: time.sleep(100); "
    with served(graph, before=SOON + hangs) as (process, client):
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(lambda: client.post("/mcp", json=call("graph_schema")))
            while "xkg_requests_in_flight 2.0" not in client.get("/metrics").text:
                assert not asked.done()
            said = ended(process)
            assert asked.exception(60) is not None or asked.result().status_code >= 500
        assert process.returncode == 0
        assert "the server did not close in time" in [line["event"] for line in said]


@pytest.mark.product("a server of several processes", every=True)
def test_workers_answer_side_by_side_count_together_and_end_together(graph: Path) -> None:
    with served(graph, "--workers", "2") as (process, client):
        for _ in range(11):
            assert client.post("/mcp", json=PING).status_code == 200
        assert client.post("/mcp", json=call("search_techniques", query="Scoring")).status_code == 200
        told = client.get("/metrics").text
        assert 'xkg_http_requests_total{path="/mcp",status="200"} 12.0' in told
        said = ended(process)
        assert process.returncode == 0
        asked = [(line["call"], line["status"], line["level"]) for line in said if line["event"] == "request"]
        assert (len(asked), ("search_techniques", 200, "info") in asked) == (12, True)
        assert "Scoring" not in json.dumps(said)


@pytest.mark.product("a server of several processes", every=True)
def test_workers_do_not_outlive_their_parent(graph: Path) -> None:
    with served(graph, "--workers", "2") as (process, client):
        assert client.get("/healthz").status_code == 200
        process.kill()
        process.wait()
        until = time.monotonic() + 60
        while _answers(client):
            assert time.monotonic() < until
            time.sleep(0.1)


def _answers(client: Asking) -> bool:
    import httpx2

    try:
        return client.get("/healthz").status_code == 200
    except httpx2.TransportError:
        return False


def test_other_machines_are_served_only_where_a_token_is_asked(tmp_path: Path) -> None:
    settings = Settings(kg=tmp_path / "kg")
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:8321"):
        with pytest.raises(ConfigError, match=r"xkg token create NAME.*serve\.oauth"):
            serve_http(settings, address, http_app)
    behind_a_proxy = ServeSettings(http=HttpSettings(url="https://kg.example.org/mcp"))
    with pytest.raises(ConfigError, match=r"kg\.example\.org.*xkg token create NAME"):
        serve_http(Settings(kg=tmp_path / "kg", serve=behind_a_proxy), "127.0.0.1:0", http_app)
    Tokens(settings.kg).create("gone")
    Tokens(settings.kg).revoke("gone")
    with pytest.raises(ConfigError, match="xkg token create NAME"):
        serve_http(settings, "0.0.0.0:0", http_app)
    Tokens(settings.kg).create("laptop")
    with pytest.raises(ConfigError, match="cannot be served"):
        serve_http(settings, "192.0.2.1:8321", http_app)  # no machine has this address


def test_oauth_for_other_machines_needs_the_address_that_they_use(tmp_path: Path) -> None:
    settings = Settings.model_validate({"kg": tmp_path, "serve": {"oauth": {"issuer": "https://login.example.org"}}})
    with pytest.raises(ConfigError, match=r"serve\.http\.url"):
        serve_http(settings, "0.0.0.0:0", http_app)


@pytest.mark.parametrize(
    "address", ["", "8321", ":8321", "127.0.0.1", "127.0.0.1:", "a:99999", "::1:80", "a:-1", "a:٣"]
)
def test_what_is_no_address_is_refused_in_one_line(tmp_path: Path, address: str) -> None:
    with pytest.raises(ConfigError, match="HOST:PORT"):
        serve_http(Settings(kg=tmp_path), address, http_app)


def test_addresses_are_read() -> None:
    assert (parse("127.0.0.1:8321"), parse("[::1]:80")) == (("127.0.0.1", 8321), ("::1", 80))
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "192.0.2.1", "no.such.host.invalid")] == [False] * 4


HOSTILE = (
    "from xkg.build.parsing import parsers; from tests.build.parsing.hostile_parsers import HostileParsers; "
    "parsers.Parsers = {}; "
)


def test_a_folder_that_is_being_parsed_holds_up_no_end(graph: Path, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("'SPIN'\n")
    with served(
        graph,
        before=SOON + HOSTILE.format("lambda: HostileParsers(600)"),
        XKG_SERVE__ROOTS=f'["{tmp_path}"]',
    ) as (process, client):
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(
                lambda: client.post("/mcp", json=call("locate", technique="kneading", repository=str(tmp_path)))
            )
            while not parsing(process.pid):
                assert not asked.done()
                time.sleep(0.05)
            ended(process)
            assert asked.exception(60) is not None or asked.result().status_code >= 400
        assert process.returncode == 0
        assert not parsing(process.pid)


def parsing(server: int) -> bool:
    """Returns whether a descendant of the server is parsing a folder. Only the process that forks calls has such a
    child."""
    found = []
    for process in descendants(server):
        with contextlib.suppress(OSError):
            found.append(b"guest/worker.py" in Path(f"/proc/{process}/cmdline").read_bytes())
    return sum(found) > 1
