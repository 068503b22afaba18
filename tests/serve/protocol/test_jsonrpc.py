"""Sends messages that are not valid JSON-RPC, over a real pipe and over HTTP. Each message gets an error, and the
server continues to answer."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.serve.http_server import running

PING = {"jsonrpc": "2.0", "method": "ping"}
WRONG = [
    (b"not json", -32700, None),
    (b"{", -32700, None),
    (rb'{"jsonrpc":"2.0","id":6,"method":"ping","params":{"q":"\ud83d"}}', -32700, None),
    (b"[" * 100_000, -32700, None),
    (b'[{"jsonrpc":"2.0","id":3,"method":"ping"}]', -32600, None),
    (b"[]", -32600, None),
    (b"7", -32600, None),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":2.5,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None),
    (b'{"jsonrpc":"1.0","id":"a-5","method":"ping"}', -32600, "a-5"),
    (b'{"jsonrpc":"2.0","id":5}', -32600, 5),
]


def test_requests_before_the_end_of_the_input_are_answered(graph: Path) -> None:
    started = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    lines = [
        PING | {"id": 1, "method": "initialize", "params": started},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        PING | {"id": 2, "method": "tools/call", "params": {"name": "list_papers", "arguments": {}}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}},
        PING | {"id": 3, "method": "tools/list"},
    ]
    served = subprocess.run(
        [sys.executable, "-m", "xkg.commands.serve", "--kg", str(graph)],
        input="\n".join(map(json.dumps, lines)),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in served.stdout.splitlines()]
    assert {answer["id"] for answer in answers if "result" in answer} == {1, 2, 3}


def test_every_line_on_stdio_is_answered(graph: Path) -> None:
    started = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    lines = [
        b"\xef\xbb\xbf" + json.dumps(PING | {"id": 1, "method": "initialize", "params": started}).encode() + b"\r",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b"",
        *(line for line, _, _ in WRONG),
        json.dumps(PING | {"id": "last"}).encode(),
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "xkg.commands.serve", "--kg", str(graph)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"XKG_EMBEDDING__THREADS": "1"},
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"\n".join(lines) + b"\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(len(WRONG) + 2)]
        server.stdin.close()
    by_id = {answer["id"]: answer for answer in answers if "result" in answer}
    assert by_id[1]["result"]["protocolVersion"] == "2025-03-26"
    assert by_id["last"]["result"] == {}
    errors = [(answer["error"]["code"], answer["id"]) for answer in answers if "error" in answer]
    assert errors == [(code, request) for _, code, request in WRONG]


def test_every_body_over_http_is_answered(graph: Path) -> None:
    with running(graph) as server:
        client = server.client()
        for body, code, request in WRONG:
            answer = client.post("/mcp", content=body)
            assert answer.status_code == 400
            assert (answer.json()["error"]["code"], answer.json()["id"]) == (code, request)
        assert client.post("/mcp", json=PING | {"id": 2}).json()["result"] == {}
