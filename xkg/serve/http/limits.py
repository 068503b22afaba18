"""Limits each caller's request rate, the body size, and the number of concurrent requests."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from ipaddress import IPv6Address, ip_address

from cachetools import LRUCache
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_CALLERS = 10_000
WAIT_SECONDS = 20.0


class Rates:
    """Limits rates with one token bucket per caller. Allows `per_minute` requests on average, with bursts of up to
    `per_minute` / 10 requests. If there are too many callers, the least recently seen are dropped."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._size = max(1.0, per_minute / 10)
        self._clock = clock
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(MOST_CALLERS)

    def wait(self, caller: str) -> float:
        """Returns how many seconds the caller must wait, or 0. This call does not count as a request."""
        level = self._level(caller, self._clock())
        return 0.0 if level >= 1 else (1 - level) / self._rate

    def take(self, caller: str) -> float:
        """Like `wait`, but counts a request if the caller does not have to wait."""
        now, wait = self._clock(), self.wait(caller)
        level = self._level(caller, now)
        self._buckets[caller] = (level if wait else level - 1, now)
        return wait

    def _level(self, caller: str, now: float) -> float:
        level, then = self._buckets.get(caller, (self._size, now))
        return min(self._size, level + (now - then) * self._rate)


def caller(scope: Scope) -> str:
    """Returns the token's name, or the IP address if there is no token. IPv6 addresses are grouped by /64, the prefix
    usually assigned to a network."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        return f"token {user.access_token.client_id}"
    host = scope["client"][0] if scope.get("client") else "?"
    try:
        address = ip_address(host)
    except ValueError:
        return str(host)
    return f"{address.packed[:8].hex(':', 2)}::/64" if isinstance(address, IPv6Address) else host


class RateLimit:
    """Rejects excess requests with 429 and Retry-After. If `per_minute` is 0, there is no limit."""

    def __init__(self, app: ASGIApp, per_minute: int) -> None:
        self._app = app
        self._rates = Rates(per_minute) if per_minute else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wait = self._rates.take(caller(scope)) if self._rates is not None else 0.0
        if wait:
            await too_often(scope, receive, send, wait)
            return
        await self._app(scope, receive, send)

    def wait(self, scope: Scope) -> float:
        """Returns how many seconds this request's caller must wait, or 0. This call does not count as a request."""
        return self._rates.wait(caller(scope)) if self._rates is not None else 0.0


async def too_often(scope: Scope, receive: Receive, send: Send, wait: float) -> None:
    """Responds with 429 and the number of seconds to wait."""
    after = math.ceil(wait)
    words = f"too many requests; try again in {after} s"
    await refuse(scope, receive, send, 429, "rate", words, {"retry-after": str(after)})


def body_limit(
    app: ASGIApp, most: int, seconds: float, check: Callable[[bytes], ASGIApp | None] = lambda _: None
) -> ASGIApp:
    """Buffers the whole body before passing the request on. Rejects bodies larger than `most` bytes with 413, and
    requests that take longer than `seconds` to arrive with 408. `check` may return a response to send instead of
    calling the app."""

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        announced = next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
        body = bytearray()
        more = announced <= most
        try:
            async with asyncio.timeout(seconds):
                while more and len(body) <= most:
                    message = await receive()
                    if message["type"] != "http.request":
                        return  # the caller has disconnected
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            words = f"the request did not arrive within {seconds:g} s; send it again"
            await refuse(scope, receive, send, 408, "slow", words, {"connection": "close"})
            return
        if max(announced, len(body)) > most:
            words = f"the request is larger than {most // 1024} KiB; send a smaller one"
            await refuse(scope, receive, send, 413, "body", words, {"connection": "close"})
            return
        if (answer := check(bytes(body))) is not None:
            await answer(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def again() -> Message:
            return whole.pop() if whole else await receive()

        await app(scope, again, send)

    return limited


def gate(app: ASGIApp, at_work: int, waiting: int) -> ASGIApp:
    """Allows `at_work` concurrent requests and queues up to `waiting` more in order of arrival. Any further requests,
    and requests that wait too long, are rejected with 503. A request's slot is released when its response begins, so
    that slow clients do not block others."""
    slots = asyncio.Semaphore(at_work)
    queued = 0

    async def acquire() -> bool:
        nonlocal queued
        if slots.locked() and queued >= waiting:
            return False
        queued += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await slots.acquire()
        except TimeoutError:
            return False
        finally:
            queued -= 1

    async def gated(scope: Scope, receive: Receive, send: Send) -> None:
        if not await acquire():
            words = "the server is busy; try again in a moment"
            await refuse(scope, receive, send, 503, "busy", words, {"retry-after": "1"})
            return
        with ExitStack() as slot:
            slot.callback(slots.release)

            async def answer(message: Message) -> None:
                slot.close()
                await send(message)

            await app(scope, receive, answer)

    return gated


async def refuse(
    scope: Scope,
    receive: Receive,
    send: Send,
    status: int,
    reason: str,
    words: str,
    headers: Mapping[str, str] | None = None,
) -> None:
    scope.setdefault("state", {})["refused"] = reason
    response = JSONResponse({"error": reason, "error_description": words}, status_code=status, headers=headers)
    await response(scope, receive, send)
