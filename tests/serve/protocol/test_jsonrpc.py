"""Messages that are not JSON-RPC, over a real pipe and over HTTP: each gets its error, and the server goes on."""

import json
import subprocess
import sys
from pathlib import Path

from tests.serve.http_server import running

PING = {"jsonrpc": "2.0", "method": "ping"}
STARTED = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
WRONG = [b"not json", b"[" * 100_000, b'[{"jsonrpc":"2.0","id":3,"method":"ping"}]', b'{"jsonrpc":"2.0","id":5}']


def test_every_line_on_stdio_is_answered_also_after_the_end_of_the_input(graph: Path) -> None:
    lines = [
        PING | {"id": 1, "method": "initialize", "params": STARTED},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        PING | {"id": 2, "method": "tools/call", "params": {"name": "list_papers", "arguments": {}}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}},
        PING | {"id": 3, "method": "tools/list"},
    ]
    served = subprocess.run(
        [sys.executable, "-m", "xkg.commands.serve", "--kg", str(graph)],
        input=b"\xef\xbb\xbf" + b"\n".join([*(json.dumps(line).encode() for line in lines[:2]), *WRONG,
                          *(json.dumps(line).encode() for line in lines[2:])]),
        capture_output=True,
        check=True,
    )  # fmt: skip
    answers = [json.loads(line) for line in served.stdout.splitlines()]
    assert {answer["id"] for answer in answers if "result" in answer} == {1, 2, 3}
    assert [answer["id"] for answer in answers if "error" in answer] == [None] * len(WRONG)


def test_every_body_over_http_is_answered(graph: Path) -> None:
    with running(graph) as server:
        client = server.client()
        for body in WRONG:
            answer = client.post("/mcp", content=body)
            assert (answer.status_code, "error" in answer.json()) == (400, True)
        assert client.post("/mcp", json=PING | {"id": 2}).json()["result"] == {}
