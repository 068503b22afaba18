"""Selects keys, interprets failures and pauses between retries for OpenAI-compatible servers. Chat completions and
embeddings share this code.

Keys come only from the environment. `OPENAI_API_KEY` is used only for OpenAI's own service and for an address set in
the environment, so that a settings file cannot send this key to a different server. Keys never appear in settings, logs
or errors."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from xkg.clock import Clock
from xkg.config import OPENAI_URL
from xkg.errors import ConfigError
from xkg.retry_after import seconds_to_wait
from xkg.text.address import same_server

if TYPE_CHECKING:
    import openai

_MESSAGE_CHARACTERS = 200
_SAYS = re.compile(r"(?i)(?:message|msg)$|^(?:error|detail)$")
_TITLE = re.compile(r"(?i)<title>\s*([^<]{1,200})")
_ABOUT_KEYS = re.compile(r"key|token|auth|credential|permission|access|project", re.I)
_PLACE = re.compile(r"\b(?:countr(?:y|ies)|regions?|territory|location)\b", re.I)
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0
"""The first and the longest wait before a retry, in seconds, if the server does not request a pause. The wait doubles
each time."""


@dataclass(frozen=True)
class Access:
    """A server's address and key; the key is empty if no key is set. `section` is the server's settings section;
    `variables` are the environment variables that may contain the key."""

    base_url: str
    section: str
    variables: str
    key: str = field(repr=False)

    @property
    def at(self) -> str:
        return urlsplit(self.base_url).netloc

    @property
    def sent_key(self) -> str:
        """The key to send. The SDK requires a key; servers without keys ignore it."""
        return self.key or "none"

    def words(self, body: Any) -> str:
        """Returns the message in an error body as one printable line, without the key. The line is empty if there is no
        message."""
        words = " ".join(_message(body).split())
        if self.key:
            words = words.replace(self.key, "[key]")
        return ascii(words[:_MESSAGE_CHARACTERS])[1:-1]


def _message(body: Any, depth: int = 4) -> str:
    """Returns the first message in an error body, or a web page's title. Servers use different keys and nesting for
    messages."""
    if isinstance(body, str):
        if not body.lstrip().startswith("<"):
            return body
        title = _TITLE.search(body)
        return title[1] if title else "a web page"
    if isinstance(body, list):
        body = {"message": body[0]} if body else {}
    if not isinstance(body, dict) or not depth:
        return ""
    named = [value for key, value in body.items() if _SAYS.search(key)]
    others = [value for value in body.values() if isinstance(value, dict)]
    return next(filter(None, (_message(value, depth - 1) for value in (*named, *others))), "")


def is_openai(base_url: str) -> bool:
    return base_url.lower().startswith("https:") and same_server(base_url, OPENAI_URL)


def access(section: str, base_url: str, variable: str, named: Collection[str] = ()) -> Access:
    """Returns a server's address with the key in `variable`. If this variable is not set, uses `OPENAI_API_KEY`, but
    only for OpenAI's own service and for the addresses in `named`, which come from the environment. Raises
    `ConfigError` if the key is not a valid header value."""
    variables, key = variable, os.environ.get(variable, "").strip()
    if is_openai(base_url) or base_url.rstrip("/") in {url.rstrip("/") for url in named}:
        variables = f"OPENAI_API_KEY or {variable}"
        key = key or os.environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key in the environment contains invalid characters; set {variables} again")
    return Access(base_url, section, variables, key)


class Failure(NamedTuple):
    """Says why there is no answer. If `passes` is set, a retry may succeed after `pause` seconds, which is the pause
    that the server requested."""

    line: str
    passes: bool = False
    pause: float = 0.0


def failure(error: Exception, at: Access, model: str) -> Failure:
    """Converts an exception from the SDK or its transport to a failure."""
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        return _refusal(error, at, model)
    cause = type(error.__cause__ or error).__name__
    if isinstance(error, (TimeoutError, openai.APITimeoutError, httpx2.TimeoutException)):
        if isinstance(error, httpx2.ConnectTimeout) or isinstance(error.__cause__, httpx2.ConnectTimeout):
            return Failure(f"{at.at} cannot be reached (connection timed out)", passes=True)
        return Failure(f"{at.at} did not answer in time; check {at.section}.base_url, or try again", passes=True)
    if isinstance(error, (openai.APIConnectionError, httpx2.TransportError)):
        return Failure(
            f"{at.at} cannot be reached, or drops the connection ({cause}); check {at.section}.base_url", passes=True
        )
    return Failure(f"no answer from {at.at} ({type(error).__name__}); check {at.section}.base_url")


def _refusal(error: openai.APIStatusError, at: Access, model: str) -> Failure:
    status = error.status_code
    words = at.words(error.body)
    because = f" ({words})" if words else ""
    page = isinstance(error.body, str) and error.body.lstrip().startswith("<")
    elsewhere = status == 451 or (status in (400, 401, 403) and _PLACE.search(words))
    if elsewhere or (status == 403 and words and (page or not _ABOUT_KEYS.search(words))):
        return Failure(f"{at.at} refuses to answer (HTTP {status}){because}")
    if status in (401, 403):
        # A server's message about a key may contain the key.
        return Failure(f"{at.at} rejects the key (HTTP {status}); set {at.variables} to a key that can use {model}")
    if status == 402 or "insufficient_quota" in (error.code, error.type) or "credit balance" in words:
        return Failure(
            f"the quota at {at.at} is exhausted{because}; add credit there, or choose another {at.section}.base_url"
        )
    if status in (408, 409, 429) or status >= 500:
        pause = seconds_to_wait(error.response.headers.get("retry-after"), time.time())
        return Failure(f"{at.at} answered HTTP {status}{because}; try again later", passes=True, pause=pause)
    return Failure(
        f"{at.at} answered HTTP {status} for model {model}{because}; check the name of the model "
        f"({at.section}.model) and {at.section}.base_url"
    )


class Patience:
    """Decides how long to pause between attempts to answer one question. All attempts together take at most
    `seconds`."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._clock, self._begin = clock, clock.monotonic()
        self._seconds = seconds
        self._wait = FIRST_WAIT

    @property
    def left(self) -> float:
        return self._begin + self._seconds - self._clock.monotonic()

    def pause(self, requested: float) -> float | None:
        """Returns the seconds to wait, at least `requested`, or None if not enough time is left."""
        pause = max(requested, self._wait * random.uniform(0.5, 1))
        if pause >= self.left:
            return None
        self._wait = min(2 * self._wait, LONGEST_WAIT)
        return pause

    def give_up(self, line: str, requested: float) -> str:
        """Returns `line` with a note that the client gave up retrying."""
        waits = f"; it requested a pause of {requested:.0f} s" if requested > self._wait else ""
        return f"{line}; gave up after {self._clock.monotonic() - self._begin:.0f} s of trying{waits}"
