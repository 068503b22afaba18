"""Answers invalid JSON-RPC messages with an error, on all transports. On stdio, the SDK drops invalid messages and
treats a request whose id is null or a float as a notification, so the caller would wait forever. The SDK also cancels
unanswered requests when the input ends."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TextIO, cast

import anyio
from anyio.abc import ObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

_LAST_ANSWERS = 60.0
"""How long to wait for outstanding answers after the client has closed its input."""


class WrongMessageError(Exception):
    """Raised if the input is not a valid message. `answer` is the error to send back."""

    def __init__(self, code: int, words: str, request: str | int | None = None) -> None:
        super().__init__(words)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=words))


def parsed_message(message: str | bytes) -> JSONRPCMessage:
    """Parses a JSON-RPC 2.0 message. Raises `WrongMessageError` if the message is invalid or a batch, because batches
    are not supported."""
    try:
        value = from_json(message)
    except ValueError as error:
        raise WrongMessageError(PARSE_ERROR, f"invalid JSON: {error}") from None
    if isinstance(value, list):
        raise WrongMessageError(INVALID_REQUEST, "batches are not supported; send each message separately")
    if not isinstance(value, dict):
        raise WrongMessageError(INVALID_REQUEST, "a message must be a JSON object")
    given = value.get("id")
    valid = isinstance(given, str | int) and not isinstance(given, bool)
    if "method" in value and "id" in value and not valid:
        raise WrongMessageError(INVALID_REQUEST, "the id of a request must be a string or an integer")
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        raise WrongMessageError(INVALID_REQUEST, "not a JSON-RPC 2.0 message", given if valid else None) from None


@asynccontextmanager
async def checked_stdio() -> AsyncIterator[tuple[Any, Any]]:
    """Yields the SDK's streams for standard input and output. Lines that are not valid messages are answered with an
    error."""
    with _private_stdin() as stdin:
        lines = _Messages(stdin)
        async with stdio_server(stdin=cast(anyio.AsyncFile[str], lines)) as (read, write):
            lines.answers = write
            yield read, _Answers(write, lines.open)


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


class _Messages:
    """Iterates over the valid messages on `stdin`. The iteration ends only when all requests have been answered, so
    that a client that closes its input immediately still receives its answers. `open` contains the ids of unanswered
    requests."""

    answers: Any

    def __init__(self, stdin: TextIO) -> None:
        self._lines = anyio.wrap_file(stdin)
        self.open: set[str | int] = set()

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            # Some Windows clients start their input with a byte order mark.
            message = line.removeprefix("\ufeff").strip()
            if not message:
                continue
            try:
                read = parsed_message(message)
            except WrongMessageError as error:
                await self.answers.send(SessionMessage(error.answer))
                continue
            if isinstance(read, JSONRPCRequest):
                self.open.add(read.id)
            elif isinstance(read, JSONRPCNotification) and read.method == "notifications/cancelled":
                cancelled = (read.params or {}).get("requestId")
                self.open.difference_update([each for each in self.open if each == cancelled])
            yield message
        with anyio.move_on_after(_LAST_ANSWERS):
            while self.open:
                await anyio.sleep(0.02)


@contextmanager
def _private_stdin() -> Iterator[TextIO]:
    """Yields standard input for the server's exclusive use. Programs that the server starts get empty input."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        # This stream is never closed, because a thread may still be reading from it when the server exits.
        yield open(private, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    finally:
        os.dup2(private, 0)
