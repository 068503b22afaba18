"""Limits each caller's request rate, the body size, and the number of concurrent requests."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address, ip_address

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_CALLERS = 10_000
WAIT_SECONDS = 20.0


class Rates:
    """A token bucket per caller. Allows `per_minute` requests on average, with bursts of up to `per_minute` / 10
    requests. If there are too many callers, the callers seen least recently are dropped."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._size = max(1.0, per_minute / 10)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str) -> float:
        """Returns how many seconds the caller must wait, or 0. This check does not count as a request."""
        level = self._level(caller, self._clock())
        return 0.0 if level >= 1 else (1 - level) / self._rate

    def take(self, caller: str) -> float:
        """Like `wait`, but counts a request if the caller does not have to wait."""
        now, wait = self._clock(), self.wait(caller)
        level = self._level(caller, now)
        self._buckets.pop(caller, None)
        self._buckets[caller] = (level if wait else level - 1, now)
        if len(self._buckets) > MOST_CALLERS:
            self._buckets.popitem(last=False)
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
        """Returns how many seconds this request's caller must wait, or 0. This check does not count as a request."""
        return self._rates.wait(caller(scope)) if self._rates is not None else 0.0


async def too_often(scope: Scope, receive: Receive, send: Send, wait: float) -> None:
    """Responds with 429 and the number of seconds to wait."""
    after = math.ceil(wait)
    words = f"too many requests; try again in {after} s"
    await refuse(scope, receive, send, 429, "rate", words, {"retry-after": str(after)})


class BodyLimit:
    """Buffers the whole body before passing the request on. Rejects bodies larger than `most` bytes with 413, and
    requests that take longer than `seconds` to arrive with 408."""

    def __init__(self, app: ASGIApp, most: int, seconds: float) -> None:
        self._app = app
        self._most = most
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        announced = next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
        body = bytearray()
        more = announced <= self._most
        try:
            async with asyncio.timeout(self._seconds):
                while more and len(body) <= self._most:
                    message = await receive()
                    if message["type"] != "http.request":
                        return  # the caller has disconnected
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            words = f"the request did not arrive within {self._seconds:g} s; send it again"
            await refuse(scope, receive, send, 408, "slow", words, {"connection": "close"})
            return
        if max(announced, len(body)) > self._most:
            words = f"the request is larger than {self._most // 1024} KiB; send a smaller one"
            await refuse(scope, receive, send, 413, "body", words, {"connection": "close"})
            return
        whole: Message | None = {"type": "http.request", "body": bytes(body), "more_body": False}

        async def again() -> Message:
            nonlocal whole
            if whole is None:
                return await receive()
            message, whole = whole, None
            return message

        await self._app(scope, again, send)


class Gate:
    """Allows `at_work` concurrent requests and queues up to `waiting` more in order of arrival. Any further requests,
    and requests that wait too long, are rejected with 503. A request's slot is released when its response begins, so
    that slow clients do not block others."""

    def __init__(self, app: ASGIApp, at_work: int, waiting: int) -> None:
        self._app = app
        self._most_waiting = waiting
        self._turns = asyncio.Semaphore(at_work)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not await self._turn():
            words = "the server is busy; try again in a moment"
            await refuse(scope, receive, send, 503, "busy", words, {"retry-after": "1"})
            return
        has_turn = True

        def done() -> None:
            nonlocal has_turn
            if has_turn:
                has_turn = False
                self._turns.release()

        async def answer(message: Message) -> None:
            done()
            await send(message)

        try:
            await self._app(scope, receive, answer)
        finally:
            done()

    async def _turn(self) -> bool:
        if not self._turns.locked():
            return await self._turns.acquire()
        if self._waiting >= self._most_waiting:
            return False
        self._waiting += 1
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await self._turns.acquire()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1


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
