"""Measures how many searches per second the HTTP server handles, compared with the echo of a bare SDK server over the
same transport.

Both servers run in separate processes and use MCP without sessions and with JSON answers. Each client keeps one
connection open and sends the next request as soon as it receives the answer."""

import asyncio
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from evaluation.speed.latency import QUERIES

BARE = """
import socket, sys, uvicorn
from mcp.server import MCPServer
server = MCPServer("echo", log_level="ERROR")
@server.tool()
def echo(text: str) -> str:
    return text
listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print(listener.getsockname()[1], file=sys.stderr, flush=True)
app = server.streamable_http_app(stateless_http=True, json_response=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run([listener])
"""
OURS = "from xkg.cli.main import main; main()"
NO_LIMITS = {"XKG_SERVE__HTTP__PER_MINUTE": "0", "XKG_SERVE__HTTP__QUEUE": "1000"}
WARM_SECONDS = 1.0
START_SECONDS = 60.0


class Load(NamedTuple):
    """The requests per second, and the server's CPU seconds per request, which are more reliable on a busy machine."""

    a_second: float
    cpu: float


class Server(NamedTuple):
    port: int
    pids: tuple[int, ...]

    def cpu_seconds(self) -> float:
        ticks = 0
        for pid in self.pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        """Returns the proportional set size of all the server's processes, in MB. Memory shared by several workers is
        counted once."""
        kilobytes = 0
        for pid in self.pids:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            kilobytes += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return kilobytes / 1024


@contextmanager
def bare(program: str = BARE) -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield Server(int(process.stderr.readline()), (process.pid,))
    finally:
        process.kill()
        process.wait()


@contextmanager
def ours(kg: Path, workers: int) -> Iterator[Server]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-c", OURS, "--kg", str(kg), "serve", "--http", f"127.0.0.1:{port}"]
    process = subprocess.Popen(
        [*command, "--workers", str(workers), "--log-level", "warning"], env={**os.environ, **NO_LIMITS}
    )
    try:
        for _ in range(4 * workers):  # each connection reaches only one worker, and all workers must be warm
            asyncio.run(_each_once(port, _searches()))
        yield Server(port, (process.pid, *_children(process.pid)))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _searches() -> list[bytes]:
    return [request("search_techniques", {"query": query}) for query in QUERIES]


def request(tool: str, arguments: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    body = json.dumps(message).encode()
    head = "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:1\r\ncontent-type: application/json\r\naccept: application/json\r\n"
    return f"{head}mcp-protocol-version: 2025-11-25\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


async def load(server: Server, requests: Sequence[bytes], clients: int, seconds: float) -> Load:
    """Sends the requests from several clients at once. Each client starts at a different request."""
    answered = 0
    begins = time.perf_counter() + WARM_SECONDS
    ends = begins + seconds

    async def client(number: int) -> None:
        nonlocal answered
        number = number * len(requests) // clients
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        while time.perf_counter() < ends:
            writer.write(requests[number % len(requests)])
            number += 1
            if not await _answered(reader):
                raise SystemExit("a request failed under load")
            answered += begins <= time.perf_counter() <= ends
        writer.close()

    async def processor() -> float:
        await asyncio.sleep(begins - time.perf_counter())
        before = server.cpu_seconds()
        await asyncio.sleep(ends - time.perf_counter())
        return server.cpu_seconds() - before

    measured = asyncio.create_task(processor())
    await asyncio.gather(*(client(number) for number in range(clients)))
    spent = await measured
    return Load(answered / seconds, spent / answered if answered else math.nan)


async def _answered(reader: asyncio.StreamReader) -> bool:
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    body = await reader.readexactly(int(length))
    return head.startswith(b"HTTP/1.1 200") and b'"isError":false' in body


async def _each_once(port: int, requests: Sequence[bytes]) -> None:
    """Sends each request once, to a server that may not be listening yet."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            break
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(0.05)
    for one in requests:
        writer.write(one)
        await _answered(reader)
    writer.close()


def _children(pid: int) -> tuple[int, ...]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return tuple(int(child) for child in text.split())
