"""Defines the endpoint interface, which servers (`chat_completions`), programs (`program_endpoint`) and callers
(`caller`) implement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from xkg.llm.request import Message

Ending = Literal["ok", "refused", "cut", "late", "barred"]

CLOSED = "the language model was closed while answering a question; start again"


@dataclass(frozen=True)
class Request:
    """A question for a model: the conversation so far and the answer's schema. `key` is a digest of everything that
    determines the answer (`xkg.llm.ledger`). `stage`, `prompt` and `about` are a human-readable description of the
    question. `search` allows a web search."""

    model: str
    messages: Sequence[Message]
    schema: Mapping[str, Any]
    temperature: float | None = None
    key: bytes = b""
    stage: str = ""
    prompt: str = ""
    about: str = ""
    search: bool = False


@dataclass(frozen=True)
class Reply:
    """The outcome of a question. `ending` is `ok`, `refused` (by the model), `cut` (at the length limit), `late` (timed
    out), or `barred` (rejected by the endpoint because of a filter or the question's length). `text` is the model's
    answer or the reason. Token counts are reported by the endpoint or estimated. `dollars` is None if the endpoint does
    not report a cost. `seconds` includes pauses."""

    ending: Ending
    text: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    dollars: float | None = None


class Endpoint(Protocol):
    """A source of answers, such as a server or a program. `at` identifies the endpoint in messages, and `remedy` tells
    the user what to do if it does not answer. `searches` means that the endpoint can search the web. Safe to use from
    several threads."""

    at: str
    remedy: str
    searches: bool

    def complete(self, request: Request) -> Reply:
        """Returns the answer to the last message. Raises `ModelUnavailableError` if the endpoint or the model is
        unavailable, or after `close`."""

    def distrust(self, model: str) -> None:
        """Includes the schema in the prompt from now on, because the model ignores the schema parameter."""

    def close(self) -> None:
        """Cancels in-flight calls, which then raise `ModelUnavailableError`."""
