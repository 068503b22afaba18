"""Completes the SDK's stdio transport: invalid messages are answered with an error, and requests are answered even if
the client closes its input immediately. The SDK would drop the former and cancel the latter."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TextIO

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

_LAST_ANSWERS = 60.0
"""How long to wait for outstanding answers after the client has closed its input."""

_INVALID = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=PARSE_ERROR, message="not a JSON-RPC 2.0 message"))


@asynccontextmanager
async def answering_stdio() -> AsyncIterator[tuple["_Messages", "_Answers"]]:
    """Yields the SDK's streams for standard input and output."""
    with _private_stdin() as stdin:
        async with stdio_server(stdin=anyio.wrap_file(stdin)) as (read, write):
            requests: set[str | int] = set()
            yield _Messages(read, write, requests), _Answers(write, requests)


class _Answers(ObjectSendStream[SessionMessage]):
    """Forwards messages to `write` and removes the ids of answered requests from `requests`."""

    def __init__(self, write: Any, requests: set[str | int]) -> None:
        self._write, self._requests = write, requests

    async def send(self, message: SessionMessage) -> None:
        await self._write.send(message)
        if isinstance(message.message, JSONRPCResponse | JSONRPCError) and message.message.id is not None:
            self._requests.discard(message.message.id)

    async def aclose(self) -> None:
        await self._write.aclose()


class _Messages(ObjectReceiveStream[SessionMessage]):
    """The valid messages from `read`. Adds the ids of requests to `requests`, and ends only when all requests have been
    answered."""

    def __init__(self, read: Any, write: Any, requests: set[str | int]) -> None:
        self._read, self._write, self._requests = read, write, requests

    @property
    def last_context(self) -> Any:
        return self._read.last_context

    async def receive(self) -> SessionMessage:
        try:
            message = await self._read.receive()
        except anyio.EndOfStream:
            with anyio.move_on_after(_LAST_ANSWERS):
                while self._requests:
                    await anyio.sleep(0.02)
            raise
        if not isinstance(message, SessionMessage):
            await self._write.send(SessionMessage(_INVALID))
            return await self.receive()
        match message.message:
            case JSONRPCRequest(id=request):
                self._requests.add(request)
            case JSONRPCNotification(method="notifications/cancelled", params={"requestId": str() | int() as request}):
                self._requests.discard(request)
        return message

    async def aclose(self) -> None:
        await self._read.aclose()


@contextmanager
def _private_stdin() -> Iterator[TextIO]:
    """Yields standard input for the server's exclusive use, without the byte order mark that some Windows clients send.
    Programs that the server starts get empty input."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        # This stream is never closed, because a thread may still be reading from it when the server exits.
        yield open(private, encoding="utf-8-sig", errors="replace", closefd=False)  # noqa: SIM115
    finally:
        os.dup2(private, 0)
