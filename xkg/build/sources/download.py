"""Files from the web: paced, retried where that helps, bounded in size and time."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError, NewConnectionError

from xkg.errors import InputError, UnsafeInputError
from xkg.retry_after import seconds_to_wait

_TRIES = 4
_CONNECT, _SILENCE = 10.0, 30.0  # seconds to reach a server, and without a byte from it
_LONGEST_WAIT = 60.0  # a longer Retry-After is an error for the user
_AGAIN = frozenset((429, 500, 502, 503, 504))
_PIECE = 1 << 16


class UnreachableError(InputError):
    """A server failed in a way that may be temporary."""


class Web:
    """Requests to one server. `pause` is in seconds between two of them, `seconds` bounds one; `remedy` ends the
    messages of errors."""

    def __init__(
        self, agent: str, pause: float, remedy: str, *, seconds: float, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._session = requests.Session()
        self._session.headers.update({"User-Agent": agent, "Accept-Encoding": "identity"})
        self._pause, self._remedy, self._seconds, self._sleep = pause, remedy, seconds, sleep
        self._free_at = 0.0

    def fetch(self, url: str, largest: int) -> tuple[int, bytes]:
        """Status and body (empty unless the status is 200).

        Raises `UnreachableError` for a server that cannot be reached, is busy for too long, or cuts every answer short;
        `UnsafeInputError` for more than `largest` bytes."""
        body = bytearray()

        def attempt() -> tuple[int, float]:
            body.clear()
            return self._read(url, largest, body.extend)

        return self._patiently(url, attempt), bytes(body)

    def save(self, url: str, largest: int, path: Path) -> int:
        """The status; if that is 200, the body is in `path`. Raises as `fetch`, and `OSError` for the file."""

        def attempt() -> tuple[int, float]:
            with path.open("wb") as file:
                return self._read(url, largest, file.write)

        return self._patiently(url, attempt)

    def _patiently(self, url: str, attempt: Callable[[], tuple[int, float]]) -> int:
        host, trouble = urlsplit(url).netloc, ""
        for number in range(_TRIES):
            wait = self._pause * 2**number
            try:
                status, retry_after = attempt()
            except (requests.RequestException, HTTPError) as error:
                if isinstance(error, requests.ConnectTimeout) or _refused(error):
                    raise UnreachableError(f"{host} cannot be reached; {self._remedy}") from error
                trouble = "the answer was cut short or did not come"
            else:
                if status not in _AGAIN:
                    return status
                trouble = f"it answers {status}" + (" (too many requests)" if status == 429 else "")
                if retry_after > _LONGEST_WAIT:
                    raise UnreachableError(
                        f"{host} is busy and asks to wait {retry_after:.0f} seconds; run this again after that"
                    )
                wait = max(wait, retry_after)
            if number + 1 < _TRIES:
                self._sleep(wait)
        raise UnreachableError(f"{url} could not be fetched in {_TRIES} tries: {trouble}; try later, or {self._remedy}")

    def _read(self, url: str, largest: int, write: Callable[[bytes], object]) -> tuple[int, float]:
        """The status, and the seconds of Retry-After."""
        if (early := self._free_at - time.monotonic()) > 0:
            self._sleep(early)
        deadline, size = time.monotonic() + self._seconds, 0
        try:
            with self._session.get(url, stream=True, timeout=(_CONNECT, _SILENCE)) as answer:
                if answer.status_code == 200:
                    for piece in _pieces(answer):
                        size += len(piece)
                        if size > largest:
                            much = f"more than {largest // 1_000_000} MB, more than any honest paper"
                            raise UnsafeInputError(f"{url} has {much}; {self._remedy}")
                        if time.monotonic() > deadline:
                            raise UnreachableError(
                                f"{url} was not there after {self._seconds:.0f} seconds; try later, or {self._remedy}"
                            )
                        write(piece)
                return answer.status_code, seconds_to_wait(answer.headers.get("Retry-After"))
        finally:
            self._free_at = time.monotonic() + self._pause


def _pieces(answer: requests.Response) -> Iterator[bytes]:
    """The body as it comes in, so that the deadline also applies to a server that sends a byte at a time."""
    while piece := answer.raw.read1(_PIECE, decode_content=True):
        yield piece


def _refused(error: Exception) -> bool:
    """Whether no connection was made: no such host, nobody listening, no network."""
    reason = error.args[0] if isinstance(error, requests.ConnectionError) and error.args else None
    return isinstance(getattr(reason, "reason", None), NewConnectionError)
