"""Answers messages that are not JSON-RPC with an error, on every transport. On stdio the SDK drops them, and treats a
request whose id is null or a float as a notification, so the caller would wait forever."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TextIO, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json


def message_error(message: str | bytes) -> JSONRPCError | None:
    """The error to answer, or None for a valid JSON-RPC 2.0 message. Batches are not supported."""
    try:
        value = from_json(message)
    except ValueError as error:
        return _error(PARSE_ERROR, f"invalid JSON: {error}")
    if isinstance(value, list):
        return _error(INVALID_REQUEST, "batches are not supported: send each message by itself")
    if not isinstance(value, dict):
        return _error(INVALID_REQUEST, "a message must be a JSON object")
    given = value.get("id")
    valid = isinstance(given, str | int) and not isinstance(given, bool)
    if "method" in value and "id" in value and not valid:
        return _error(INVALID_REQUEST, "the id of a request must be a string or an integer")
    try:
        jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _error(INVALID_REQUEST, "not a message of JSON-RPC 2.0", given if valid else None)
    return None


def _error(code: int, words: str, request: str | int | None = None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=words))


@asynccontextmanager
async def checked_stdio() -> AsyncIterator[tuple[Any, Any]]:
    """The SDK's streams over standard input and output. Lines that are not messages are answered here."""
    with _private_stdin() as stdin:
        lines = _Messages(stdin)
        async with stdio_server(stdin=cast(anyio.AsyncFile[str], lines)) as (read, write):
            lines.answers = write
            yield read, write


class _Messages:
    """The lines of `stdin` that are messages."""

    answers: Any

    def __init__(self, stdin: TextIO) -> None:
        self._lines = anyio.wrap_file(stdin)

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            # Some Windows clients start with a byte order mark.
            message = line.removeprefix("\ufeff").strip()
            if not message:
                continue
            if (error := message_error(message)) is None:
                yield message
            else:
                await self.answers.send(SessionMessage(error))


@contextmanager
def _private_stdin() -> Iterator[TextIO]:
    """Standard input for the server only: the programs that it starts read an empty one."""
    private = os.dup(0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        # A thread may still read when the server ends, so this descriptor is never closed.
        yield open(private, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    finally:
        os.dup2(private, 0)
