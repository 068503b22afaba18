"""Sends HTTP requests. Paces and retries requests, limits size and time, and follows redirects only to known hosts."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import requests
from urllib3.exceptions import HTTPError, NewConnectionError

from xkg.build.sources.pace import Pace
from xkg.clock import CLOCK, Clock
from xkg.errors import UnreachableError, UnsafeInputError
from xkg.retry_after import seconds_to_wait
from xkg.text.address import address, canonical_host

_TRIES = 4
_CONNECT, _SILENCE = 10.0, 30.0  # seconds to connect, and seconds without receiving a byte
_LONGEST_WAIT = 60.0  # a longer Retry-After raises an error
_AGAIN = frozenset((429, 500, 502, 503, 504))
_REDIRECTED = frozenset((301, 302, 303, 307, 308))
_MOST_REDIRECTS = 5
_PIECE = 1 << 16


class BusyError(UnreachableError):
    """Raised if a server asks for a longer wait than xkg allows. `seconds` is the requested wait."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class HttpReply(NamedTuple):
    """An HTTP response, whatever its status. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Web:
    """Sends requests to one server. `pause` is the number of seconds between two requests across all processes, and
    `seconds` is the timeout for one request. `remedy` is appended to error messages. Redirects are followed to the same
    host or to a host in `hosts`."""

    def __init__(
        self,
        pause: float,
        remedy: str,
        *,
        seconds: float,
        clock: Clock = CLOCK,
        hosts: Collection[str] = (),
    ) -> None:
        self._session = requests.Session()
        self._session.auth = lambda request: request  # otherwise, requests would read a password from ~/.netrc
        self._session.headers.update({"User-Agent": "xkg", "Accept-Encoding": "identity"})
        self._pause, self._remedy, self._seconds, self._clock = pause, remedy, seconds, clock
        self._hosts = frozenset(map(canonical_host, hosts))
        self._paces: dict[str, Pace] = {}

    def fetch(self, url: str, largest: int) -> tuple[int, bytes]:
        """Returns the status and the body. The body is empty unless the status is 200.

        Raises `UnreachableError` if the server cannot be reached, is busy for too long, or cuts every response short.
        Raises `UnsafeInputError` if the body has more than `largest` bytes."""
        body = bytearray()

        def attempt() -> tuple[int, float]:
            body.clear()
            return self._read(url, largest, body.extend)

        return self._patiently(url, attempt), bytes(body)

    def save(self, url: str, largest: int, path: Path) -> int:
        """Saves the body to `path` if the status is 200, and returns the status. Raises the same errors as `fetch`, and
        `OSError` for the file."""

        def attempt() -> tuple[int, float]:
            with path.open("wb") as file:
                return self._read(url, largest, file.write)

        return self._patiently(url, attempt)

    def reply(self, url: str, largest: int, headers: Mapping[str, str] | None = None) -> HttpReply:
        """Returns the response to a GET request for `url`, regardless of the status. Raises the same errors as
        `fetch`."""
        content = bytearray()
        received: dict[str, str] = {}

        def attempt() -> tuple[int, float]:
            content.clear()
            received.clear()
            return self._read(url, largest, content.extend, headers, received)

        status = self._patiently(url, attempt)
        return HttpReply(status, received, bytes(content))

    def json(self, url: str, largest: int, headers: Mapping[str, str] | None = None) -> tuple[int, Any]:
        """Returns the status and value of a JSON response. Raises the same errors as `fetch`, and `UnreachableError` if
        the response is not JSON."""
        reply = self.reply(url, largest, headers)
        try:
            return reply.status, json.loads(reply.body)
        except (ValueError, RecursionError) as error:
            what = f"{urlsplit(url).netloc} returned status {reply.status} without JSON"
            raise UnreachableError(f"{what}; try again later, or {self._remedy}") from error

    def _patiently(self, url: str, attempt: Callable[[], tuple[int, float]]) -> int:
        host, trouble = urlsplit(url).netloc, ""
        for number in range(_TRIES):
            wait = self._pause * 2**number
            try:
                status, retry_after = attempt()
            except (requests.RequestException, HTTPError) as error:
                if isinstance(error, requests.ConnectTimeout) or _refused(error):
                    raise UnreachableError(f"{host} cannot be reached; {self._remedy}") from error
                trouble = "the response was cut short or never arrived"
            else:
                if status not in _AGAIN and not (status == 403 and retry_after > 0):
                    return status
                trouble = f"it returned status {status}" + (" (too many requests)" if status == 429 else "")
                if retry_after > _LONGEST_WAIT:
                    raise BusyError(
                        f"{host} is busy and asks clients to wait {retry_after:.0f} seconds; try again after that",
                        retry_after,
                    )
                wait = max(wait, retry_after)
            if number + 1 < _TRIES:
                self._clock.sleep(wait)
        raise UnreachableError(
            f"{url} could not be fetched in {_TRIES} tries: {trouble}; try again later, or {self._remedy}"
        )

    def _read(
        self,
        url: str,
        largest: int,
        write: Callable[[bytes], object],
        headers: Mapping[str, str] | None = None,
        received: dict[str, str] | None = None,
    ) -> tuple[int, float]:
        """Returns the status, and the number of seconds that the server asks clients to wait. If `received` is given,
        reads the body regardless of the status, and stores the headers in `received`."""
        size, at = 0, url
        for _ in range(_MOST_REDIRECTS):
            with self._turn(at), self._request(at, headers) as answer:
                deadline = self._clock.monotonic() + self._seconds
                if answer.status_code in _REDIRECTED and "Location" in answer.headers:
                    at, headers = self._redirected(url, at, answer.headers["Location"], headers)
                    continue
                if received is not None:
                    received.update((name.lower(), value) for name, value in answer.headers.items())
                if answer.status_code == 200 or received is not None:
                    for piece in _pieces(answer):
                        size += len(piece)
                        if size > largest:
                            much = f"more than {largest // 1_000_000} MB, too large for a paper"
                            raise UnsafeInputError(f"{url} has {much}; {self._remedy}")
                        if self._clock.monotonic() > deadline:
                            raise UnreachableError(
                                f"{url} timed out after {self._seconds:.0f} seconds; try again later, or {self._remedy}"
                            )
                        write(piece)
                return answer.status_code, _wait(answer.headers, self._clock.now())
        raise UnreachableError(f"{url} redirects too many times; {self._remedy}")

    def _request(self, url: str, headers: Mapping[str, str] | None) -> requests.Response:
        sent = None if headers is None else dict(headers)
        return self._session.get(url, headers=sent, stream=True, timeout=(_CONNECT, _SILENCE), allow_redirects=False)

    def _turn(self, url: str) -> AbstractContextManager[None]:
        host = address(url).server
        return self._paces.setdefault(host, Pace(host, self._pause, self._clock)).turn()

    def _redirected(
        self, first: str, at: str, location: str, headers: Mapping[str, str] | None
    ) -> tuple[str, Mapping[str, str] | None]:
        """Returns the next address, and the headers to send to it. The client's own headers are never sent to another
        host."""
        try:
            target = urljoin(at, location)
            here, there = address(at), address(target)
            same = here.server == there.server
            safe = there.scheme == "https" or (there.scheme == "http" == here.scheme)
            other = "" if safe and (same or there.host in self._hosts) else there.server
        except ValueError:
            other = "an unnamed host"
        if other:
            raise UnsafeInputError(
                f"{first} redirects to another host, {other[:100]}, which is not followed; {self._remedy}"
            )
        return target, headers if same else None


def _wait(headers: Mapping[str, str], now: float) -> float:
    """Returns the number of seconds in Retry-After. If GitHub's headers say that the rate limit is exhausted, returns
    the number of seconds until it resets."""
    seconds = seconds_to_wait(headers.get("Retry-After"), now)
    if not seconds and headers.get("X-RateLimit-Remaining") == "0":
        try:
            seconds = max(0.0, float(headers.get("X-RateLimit-Reset", "")) - now)
        except ValueError:
            seconds = 0.0
    return seconds if seconds < float("inf") else 0.0


def _pieces(answer: requests.Response) -> Iterator[bytes]:
    """Yields the body as it arrives, so that the deadline also applies to a server that sends one byte at a time."""
    while piece := answer.raw.read1(_PIECE, decode_content=True):
        yield piece


def _refused(error: Exception) -> bool:
    """Returns whether the connection failed because the host is unknown, refused the connection or is unreachable."""
    reason = error.args[0] if isinstance(error, requests.ConnectionError) and error.args else None
    return isinstance(getattr(reason, "reason", None), NewConnectionError)
