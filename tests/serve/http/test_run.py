"""Tests the HTTP server with the SDK's client and a plain client, over real loopback connections."""

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.serve.http_server import PING, Running, call, running, without_time
from xkg.config import HttpSettings
from xkg.serve.answers.types import SchemaAnswer
from xkg.serve.http.tokens import Tokens
from xkg.serve.service import Service


@pytest.fixture(scope="module")
def server(graph: Path) -> Iterator[Running]:
    with running(graph, HttpSettings(origins=("https://app.example.org",))) as started:
        yield started


def rejected(server: Running) -> dict[str, float]:
    told = server.client().get("/metrics").text
    lines = [line for line in told.splitlines() if line.startswith("xkg_rejected_total")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in lines}


# --- access -----------------------------------------------------------------------------------------------------------


STEAM = "title:bread/ovens#baking/steam"


def test_callers_show_a_token_as_soon_as_one_was_made(graph_copy: Path) -> None:
    with running(graph_copy) as server:
        assert server.client().post("/mcp", json=PING).status_code == 200
        reader = Tokens(graph_copy).create("reader")
        builder = Tokens(graph_copy).create("builder", ("build",))
        for path in ("/mcp", "/metrics"):
            method = "POST" if path == "/mcp" else "GET"

            def ask(token: str | None = None, path: str = path, method: str = method) -> httpx2.Response:
                return server.client(token).request(method, path, json=PING)

            for wrong in (None, "xkg_", reader[:-1], "e30.e30.e30", "\xff"):
                answer = ask(wrong)
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"].startswith("Bearer ")
            assert ask(reader).status_code == 200
            assert (ask(builder).status_code, ask(builder).json()["error"]) == (403, "insufficient_scope")
        assert server.client().get("/healthz").status_code == 200
        assert server.client().get("/readyz").status_code == 200
        Tokens(graph_copy).revoke("reader")
        assert server.client(reader).post("/mcp", json=PING).status_code == 401
        assert server.client().post("/mcp", json=PING).status_code == 401  # without tokens, access is still refused
        (graph_copy / "tokens.json").unlink()
        assert server.client().post("/mcp", json=PING).status_code == 401
        (graph_copy / "tokens.json").write_text("{")
        assert server.client(builder).post("/mcp", json=PING).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "rebound.example.com"}, 421),
        ({"host": "rebound.example.com:{port}"}, 421),
        ({"host": "127.0.0.1.example.com"}, 421),
        ({"host": "x@127.0.0.1"}, 421),
        ({"host": "10.0.0.1"}, 421),
        ({"host": "localhost:{port}"}, 200),
        ({"host": "[::1]:{port}"}, 200),
        ({"origin": "https://evil.example.com"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1.example.com"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://app.example.org"}, 200),
        ({"origin": "http://127.0.0.1", "host": "127.0.0.1"}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/mcp", "/metrics"])
def test_pages_that_were_rebound_to_this_machine_are_refused(
    server: Running, headers: dict[str, str], status: int, path: str
) -> None:
    sent = {name: value.format(port=server.port) for name, value in headers.items()}
    answer = server.client(**sent).request("POST" if path == "/mcp" else "GET", path, json=PING)
    assert answer.status_code == status


def test_a_server_behind_a_proxy_has_its_name_and_asks_for_tokens(graph_copy: Path) -> None:
    secret = Tokens(graph_copy).create("laptop")
    with running(graph_copy, HttpSettings(url="https://kg.example.org/mcp", hosts=("kg",))) as server:
        for name in ("kg.example.org", "kg", "127.0.0.1"):
            assert server.client(secret, host=name).post("/mcp", json=PING).status_code == 200
        own = server.client(secret, host="kg.example.org", origin="https://kg.example.org")
        assert own.post("/mcp", json=PING).status_code == 200
        assert server.client(secret, host="example.org").post("/mcp", json=PING).status_code == 421
        (graph_copy / "tokens.json").unlink()
        assert server.client(host="kg").post("/mcp", json=PING).status_code == 401


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_large_request_is_refused_whether_its_size_is_announced_or_not(
    graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xkg.serve.http.app.LARGEST_BODY", 8 << 10)
    with running(graph) as server:
        fits = call("search_techniques", query="Scoring", papers=["x" * 7000])
        assert server.client().post("/mcp", json=fits).status_code == 200
        large = json.dumps(call("search_techniques", query="x" * 9000)).encode()
        for content in (large, iter([large[:5000], large[5000:]])):
            answer = server.client().post("/mcp", content=content)
            assert answer.status_code == 413
            assert "8 KiB" in answer.json()["error_description"]
        assert rejected(server) == {"body": 2.0}


def test_who_asks_too_often_is_told_when_to_ask_again(graph_copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_time(monkeypatch)
    first, second = Tokens(graph_copy).create("first"), Tokens(graph_copy).create("second")
    with running(graph_copy, HttpSettings(per_minute=30)) as server:
        statuses = [server.client(first).post("/mcp", json=PING).status_code for _ in range(5)]
        assert statuses[:3] == [200] * 3
        answer = server.client(first).post("/mcp", json=PING)
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["retry-after"]) <= 2
        assert server.client(second).post("/mcp", json=PING).status_code == 200
        guesses = [server.client(f"xkg_{n}").post("/mcp", json=PING).status_code for n in range(5)]
        assert (guesses[0], guesses[-1]) == (401, 429)


def test_more_than_it_can_do_is_refused_and_the_rest_waits_its_turn(
    graph: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr(Service, "schema", lambda _, **__: go.wait(60) and _stop())
    with running(graph, HttpSettings(concurrency=1, queue=2)) as server, ThreadPoolExecutor(8) as pool:

        def ask() -> httpx2.Response:
            return server.client().post("/mcp", json=call("graph_schema"))

        answers = [pool.submit(ask) for _ in range(8)]
        until = time.monotonic() + 60
        while sum(answer.done() for answer in answers) < 5 and time.monotonic() < until:
            time.sleep(0.01)
        assert server.client().get("/healthz").status_code == 200
        refused = [answer.result() for answer in answers if answer.done()]
        go.set()
        assert [(answer.status_code, answer.headers["retry-after"]) for answer in refused] == [(503, "1")] * 5
        assert sorted(answer.result().status_code for answer in answers) == [200] * 3 + [503] * 5
        assert rejected(server) == {"busy": 5.0}


def _stop() -> None:
    from xkg.errors import StoreError

    raise StoreError("stop")


def test_work_under_way_is_finished_at_the_end(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()

    def schema(service: Service, *, full: bool) -> SchemaAnswer:
        begun.set()
        go.wait(60)
        return answered(service, full=full)

    answered = Service.schema
    monkeypatch.setattr(Service, "schema", schema)
    with running(graph) as server, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: server.client().post("/mcp", json=call("graph_schema")))
        assert begun.wait(60)
        server.server.should_exit = True
        until = time.monotonic() + 60
        while _listens(server) and time.monotonic() < until:
            time.sleep(0.01)
        assert not _listens(server)
        go.set()
        assert answer.result().json()["result"]["structuredContent"]["papers"] == 2


def _listens(server: Running) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=60).close()
    except OSError:
        return False
    return True


# --- slow and silent clients ------------------------------------------------------------------------------------------


def raw(server: Running, *pieces: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    for piece in pieces:
        connection.sendall(piece)
    return connection


HEAD = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: application/json\r\n"


def test_a_request_that_does_not_arrive_in_time_is_ended(graph: Path) -> None:
    with running(graph, HttpSettings(request_seconds=1)) as server:
        slow = [
            raw(server, HEAD, b"content-length: 100\r\n\r\n", b"{"),
            raw(server, HEAD, b"transfer-encoding: chunked\r\n\r\n", b"5\r\n{"),
            raw(server, b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 2, b"GET /he"),
            raw(server, b"POST /mcp HT"),
            raw(server),
        ]
        said = [_all(connection) for connection in slow]
        assert [b"408" in text.splitlines()[0] for text in said[:2]] == [True] * 2
        assert said[2].count(b"200 OK") == 2
        assert said[3:] == [b"", b""]
        assert server.client().post("/mcp", json=PING).status_code == 200
        assert rejected(server) == {"slow": 2.0}


def test_silent_connections_take_all_places_for_no_longer_than_a_request_may(graph: Path) -> None:
    with running(graph, HttpSettings(connections=10, request_seconds=1)) as server:
        flood = [raw(server) for _ in range(10)]
        assert server.client().get("/healthz").status_code == 503
        assert [_all(connection) for connection in flood] == [b""] * 10
        assert server.client().post("/mcp", json=PING).status_code == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n" + b"x: " + b"y" * 100_000 + b"\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nhost: evil\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(server: Running, sent: bytes) -> None:
    said = _all(raw(server, sent, b"GET / HTTP/1.0\r\nconnection: close\r\n\r\n"))
    assert said.startswith(b"HTTP/1.1 4")
    assert server.client().get("/healthz").status_code == 200


def _all(connection: socket.socket) -> bytes:
    said = b""
    with connection:
        while True:
            try:
                piece = connection.recv(65_536)
            except ConnectionError:
                return said
            if not piece:
                return said
            said += piece


# --- health and metrics -----------------------------------------------------------------------------------------------


def test_health_readiness_and_metrics_tell_no_contents(graph: Path) -> None:
    with running(graph) as server:
        client = server.client()
        assert client.get("/healthz").json() == {"status": "alive"}
        assert client.get("/readyz").json() == {"status": "ready"}
        client.post("/mcp", json=call("search_techniques", query="Scoring"))
        client.post("/mcp", json=call("get_code", id="secret-id"))
        client.post("/mcp", json=call("secret-tool"))
        client.get("/secret-path")
        told = client.get("/metrics").text
        assert 'xkg_calls_total{outcome="ok",tool="search_techniques"} 1.0' in told
        assert 'xkg_calls_total{outcome="error",tool="get_code"} 1.0' in told
        assert 'tool="unknown"' in told
        assert 'xkg_call_seconds_count{tool="get_code"} 1.0' in told
        assert 'xkg_http_requests_total{path="other",status="404"} 1.0' in told
        assert "xkg_generation 1.0" in told
        assert "xkg_papers 2.0" in told
        assert "secret" not in told
        assert "Scoring" not in told


def test_a_request_is_logged_under_its_id_and_without_its_contents(
    graph: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "xkg"), running(graph) as server:  # lines are written after the answer
        given = server.client(**{"x-request-id": "trace-7"}).post("/mcp", json=call("get_code", id="secret"))
        assert given.headers["x-request-id"] == "trace-7"
        made = server.client(**{"x-request-id": "not an id"}).post(
            "/mcp", json=call("search_techniques", query="secret")
        )
        assert made.headers["x-request-id"] != "not an id"
    records = [record for record in caplog.records if record.message == "request"]
    # Another test's server may still be logging other requests.
    facts: list[dict[str, Any]] = [f for record in records if "call" in (f := record.__dict__["facts"])]
    assert [(fact["call"], fact["outcome"]) for fact in facts] == [
        ("get_code", "error"),
        ("search_techniques", "ok"),
    ]
    assert [fact["request_id"] for fact in facts] == ["trace-7", made.headers["x-request-id"]]
    assert "secret" not in caplog.text
    assert "secret" not in json.dumps(facts)


# --- locate and publishing --------------------------------------------------------------------------------------------


def test_an_empty_graph_is_alive_and_not_ready(tmp_path: Path) -> None:
    with running(tmp_path / "none") as server:
        assert server.client().get("/healthz").status_code == 200
        answer = server.client().get("/readyz")
        assert (answer.status_code, answer.json()["error_description"]) == (503, "there is no graph yet")
        assert "xkg_graph_up 0.0" in server.client().get("/metrics").text
        said = server.client().post("/mcp", json=call("graph_schema")).json()
        assert "xkg build" in said["result"]["content"][0]["text"]
    assert not (tmp_path / "none").exists()


def test_a_page_that_is_listed_may_call_with_a_token(server: Running) -> None:
    asked = {"origin": "https://app.example.org", "access-control-request-method": "POST"}
    answer = server.client(**asked, **{"access-control-request-headers": "authorization"}).request("OPTIONS", "/mcp")
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://app.example.org"
    assert "access-control-allow-origin" not in server.client(origin="http://localhost:3000").get("/healthz").headers


def test_trickling_bytes_buys_no_time(graph: Path) -> None:
    with running(graph, HttpSettings(request_seconds=0.5)) as server:
        connection = raw(server, HEAD, b"content-length: 1000000\r\n\r\n")
        for _ in range(500):
            try:
                connection.sendall(b" ")
            except ConnectionError:
                break
            time.sleep(0.02)
        else:
            pytest.fail("it was listened to all the time")
        connection.close()


def test_no_folder_of_the_server_is_open_unless_it_was_configured(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "steam.py").write_text("def steam(water):\n    return water * 1700\n")
    monkeypatch.chdir(tmp_path)
    asked = call("locate", technique=STEAM, repository=str(tmp_path / "repo"))
    with running(graph) as server:
        result = server.client().post("/mcp", json=asked).json()["result"]
        assert result["isError"]
        assert "cannot open folder" in result["content"][0]["text"]
    with running(graph, roots=(tmp_path,)) as server:
        assert not server.client().post("/mcp", json=asked).json()["result"]["isError"]
