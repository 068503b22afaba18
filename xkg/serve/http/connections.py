"""Time limits of connections: for each part of a request, and for reading the response."""

import asyncio
import logging
from collections.abc import Callable

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from xkg.operating_system import files_allowed

log = logging.getLogger(__name__)

IDLE_FOR_EACH_REQUEST_SECOND = 3
"""A connection may be idle this many times as long as a request may take to arrive."""

SPARE_FILES = 256
"""File descriptors of a process that connections leave to the graph and its indexes."""

_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connections:
    """The connections of one process, at most `most`. A new connection beyond that closes the one that has been idle
    longest, so that idle connections lock nobody out. `counted` receives the number of open connections, `refused` the
    reason why one was closed: `connections` for too many, `slow` after its time limit."""

    def __init__(
        self, most: int, request_seconds: float, counted: Callable[[float], None], refused: Callable[[str], None]
    ) -> None:
        self.most = most
        self.request_seconds = request_seconds
        self.idle_seconds = IDLE_FOR_EACH_REQUEST_SECOND * request_seconds
        self.refused = refused
        self._counted = counted
        self._open: set[Connection] = set()
        self._idle: dict[Connection, None] = {}  # longest idle first

    def opened(self, connection: "Connection") -> None:
        self._open.add(connection)
        self._idle[connection] = None
        self._counted(len(self._open))
        if len(self._open) > self.most:
            self.refused("connections")
            oldest = next(iter(self._idle))  # the new connection itself, if all others are busy
            self.closed(oldest)
            oldest.transport.abort()

    def closed(self, connection: "Connection") -> None:
        self._open.discard(connection)
        self._idle.pop(connection, None)
        self._counted(len(self._open))

    def at_work(self, connection: "Connection") -> None:
        self._idle.pop(connection, None)

    def at_rest(self, connection: "Connection") -> None:
        self._idle.pop(connection, None)
        if connection in self._open:
            self._idle[connection] = None


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with time limits for a request that does not end, and for a client that does not
    read. The lifespan state of its app has `connections`."""

    _deadline: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _begun = False
    _unread = 0

    @property
    def _all(self) -> Connections:
        connections: Connections = self.app_state["connections"]
        return connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(self._all.idle_seconds, self._too_slow)
        self._all.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        self._cancel_reading()
        self._all.closed(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._watch()

    def _watch(self) -> None:
        """Starts the time limit of a request that has begun, and cancels it once the request is complete."""
        state = self.conn.their_state
        begun = state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))
        if begun and not self._begun:
            self._cancel_deadline()
            self._deadline = self.loop.call_later(self._all.request_seconds, self._too_slow)
        elif not begun:
            self._cancel_deadline()  # uvicorn's keep-alive handles idle connections
        self._begun = begun
        if self.cycle is not None and not self.cycle.response_complete:
            self._all.at_work(self)
        else:
            self._all.at_rest(self)

    def _too_slow(self) -> None:
        self._deadline = None
        if self.transport.is_closing():
            return
        if self._begun:
            self._all.refused("slow")
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(_TIMEOUT)
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._cancel_reading()
        self._reading = self.loop.call_later(self._all.request_seconds, self._reads)

    def resume_writing(self) -> None:
        self._cancel_reading()
        super().resume_writing()

    def _reads(self) -> None:
        """Aborts the connection if its client has read nothing since the last check."""
        self._reading = None
        unread = self.transport.get_write_buffer_size()
        if unread >= self._unread:
            self._all.refused("slow")
            self.transport.abort()
            return
        self._unread = unread
        self._reading = self.loop.call_later(self._all.request_seconds, self._reads)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cancel_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


def room(most: int) -> int:
    """The number of connections that this process can have, at most `most`. Raises its limit of open files if that is
    too low."""
    wanted = most + SPARE_FILES
    files = files_allowed(wanted)
    allowed = most if files is None else max(1, min(most, files - SPARE_FILES))
    if allowed < most:
        log.warning("%s open files are allowed, so that %s connections can be open, not %s", files, allowed, most)
    return allowed
