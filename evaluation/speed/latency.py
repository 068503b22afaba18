"""Measures how fast the server answers over stdio, compared with a bare SDK server and with embedding a query in the
same run.

The two servers are started alternately, so that load on the machine affects both. Calls are timed at the pipe, by a
client that only writes and reads one line."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

ECHO = """
from mcp.server import MCPServer
server = MCPServer("echo")
@server.tool()
def echo(text: str) -> str:
    return text
server.run("stdio")
"""
BARE = (sys.executable, "-c", ECHO)
QUERIES = (
    "restore a small random share of the weights to the checkpoint",
    "blend the class scores of the raw picture and its cleaned-up version",
    "low-rank factorisation of a weight matrix",
    "reweight groups so that the worst one improves",
    "keep only the transitions with the highest advantage",
    "early exit at an intermediate layer",
    "classifier-free guidance scale schedule",
    "learn a proposal distribution that avoids invalid simulations",
)


def ours(kg: Path) -> tuple[str, ...]:
    return (sys.executable, "-m", "xkg.commands.serve", "--kg", str(kg))


class Pipe:
    """Runs a server that uses a line-based protocol."""

    def __init__(self, command: Sequence[str]) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._number = 0
        client = {"name": "latency", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.initialized = time.perf_counter() - self.started
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, arguments: dict[str, Any]) -> float:
        """Returns the number of seconds that the call takes. Exits the program if the answer is an error."""
        start = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        seconds = time.perf_counter() - start
        if result.get("isError"):
            raise SystemExit(f"{tool}: {result['content'][0]['text']}")
        return seconds

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise SystemExit("the server ended")
            message = json.loads(line)
            if message.get("id") == self._number:
                if "error" in message:
                    raise SystemExit(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result

    def cpu_seconds(self) -> float:
        """Returns the CPU seconds used by the server's process so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


def embedding_seconds(calls: int) -> list[float]:
    from xkg.embeddings.onnx import OnnxEmbedder

    embedder = OnnxEmbedder()
    ends = []
    for i in range(len(QUERIES) + calls):
        embedder.embed([QUERIES[i % len(QUERIES)]])
        ends.append(time.perf_counter())
    return [after - before for before, after in pairwise(ends[len(QUERIES) - 1 :])]


def starts(kg: Path, rounds: int) -> dict[str, list[float]]:
    """Returns the seconds from the start to the answer to `initialize` (`bare`, `ours`), and to the answer to a first
    `search`."""
    started: dict[str, list[float]] = {"bare": [], "ours": [], "search": []}
    for _ in range(rounds):
        pipe = Pipe(BARE)
        started["bare"].append(pipe.initialized)
        pipe.close()
        pipe = Pipe(ours(kg))
        started["ours"].append(pipe.initialized)
        pipe.call("search_techniques", {"query": QUERIES[0]})
        started["search"].append(time.perf_counter() - pipe.started)
        pipe.close()
    return started


def warm_calls(kg: Path, calls: int) -> tuple[dict[str, list[float]], float]:
    """Returns the seconds for each call, keyed by name, and the server's peak memory in MB."""
    warm: dict[str, list[float]] = {"one query embedding": embedding_seconds(calls)}
    memory = 0.0
    for name, command, tool, argument in (
        ("echo, bare server", BARE, "echo", "text"),
        ("search_techniques", ours(kg), "search_techniques", "query"),
    ):
        pipe = Pipe(command)
        for query in QUERIES:
            pipe.call(tool, {argument: query})
        warm[name] = [pipe.call(tool, {argument: QUERIES[i % len(QUERIES)]}) for i in range(calls)]
        memory = pipe.peak_mb()
        pipe.close()
    return warm, memory
