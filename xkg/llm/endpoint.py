"""What answers questions: a server (`chat_completions`), a program (`program_endpoint`) or the caller (`caller`)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from xkg.llm.request import Message

Ending = Literal["ok", "refused", "cut", "late", "barred"]

CLOSED = "the language model was closed while it was asked: start again"
TOO_LONG = re.compile(r"context.?(length|window)|too (long|large|many tokens)|maximum.{0,20}tokens", re.I)
"""What refusals of a question say that is longer than a model reads."""


@dataclass(frozen=True)
class Request:
    """A question to a model: the conversation so far, and the schema of its answer. `key` is a digest of what decides
    the answer (`xkg.llm.ledger`); `stage`, `prompt` and `about` say to people what it is. `search`: the question wants
    a search of the web."""

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
    """The outcome of a question: `ok`; `refused` by the model; `cut` at the length limit; `late`: no answer within the
    time limit; `barred` by the endpoint, for its length or by a filter. `text` is the model's answer, or what
    happened. Tokens are those that the endpoint reports, else estimates; `dollars` are what it reports, None where it
    reports none; `seconds` covers the pauses too."""

    ending: Ending
    text: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    dollars: float | None = None


class Endpoint(Protocol):
    """`at` names it in messages, and `remedy` says what to do if it gives no answers. `searches`: it can search the web
    by itself. Safe to use from several threads."""

    at: str
    remedy: str
    searches: bool

    def complete(self, request: Request) -> Reply:
        """The answer to the last message. Raises `ModelUnavailableError` if the endpoint or the model cannot be had, or
        after `close`."""

    def distrust(self, model: str) -> None:
        """The model ignores the schema that it gets as a parameter: from now on it gets the schema in the prompt."""

    def close(self) -> None:
        """Ends calls under way: they raise `ModelUnavailableError`."""
