"""Learns from the endpoint's errors which request parameters a model accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xkg.text.unicode import encodable

if TYPE_CHECKING:
    import openai

Message = Mapping[str, str]

TOO_LONG = re.compile(r"context.?(length|window|size)|too (long|large|many tokens)|maximum.{0,20}tokens", re.I)
"""Phrases in errors for questions that exceed the model's context."""
ROOM = 16_384
"""The number of answer tokens to request if an endpoint requires a limit or its default is low."""
_FENCED = (
    "Answer with exactly one JSON object, between ```json and ```, and nothing else. It has to be valid against this "
    "JSON schema:\n"
)
_SCHEMA_WORDS = re.compile(
    r"response.?format|json.?schema|structured.?output|grammar|guided|requested parameters", re.I
)
_LIMIT_WORDS = re.compile(r"max_(completion_)?(?:\w{1,20}_)?tokens", re.I)
_SYSTEM_WORDS = re.compile(r"\broles?\b|\b(?:system|developer) (?:message|prompt|instruction)", re.I)
_STREAM_WORDS = re.compile(r"\b(?:non-?)?stream", re.I)
_NUMBER = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b\d{4,}\b")
_LEAST_ROOM = 1024

_PARTS = ("text", "function", "arguments")
"""Fields that contain the text of a message part or tool call."""


@dataclass(frozen=True)
class Accepted:
    """The request shape for a model. `schema` means that the schema is sent as a parameter, and not in the prompt. The
    other flags say whether to send a temperature and a system message, and whether to stream. `limit` is the name of
    the parameter that caps the answer tokens, and `room` is the value to pass."""

    schema: bool = True
    temperature: bool = True
    system: bool = True
    stream: bool = False
    limit: str | None = None
    room: int = ROOM

    def body(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        temperature: float | None,
        parameters: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Returns the body of a request, without the model. `parameters` come from the settings."""
        sent = [{"role": m["role"], "content": encodable(m["content"])} for m in messages]
        if not self.system and len(sent) > 1 and sent[0]["role"] == "system":
            first = sent.pop(0)
            sent[0]["content"] = f"{first['content']}\n\n{sent[0]['content']}"
        body: dict[str, Any] = {"messages": sent}
        if temperature is not None and self.temperature:
            body["temperature"] = temperature
        if self.schema:
            shape = {"name": "answer", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        else:
            sent[-1]["content"] = with_schema(sent[-1]["content"], schema)
        if self.limit is not None:
            body[self.limit] = self.room
        if self.stream:
            body |= {"stream": True}
        return body | dict(parameters)

    def after(
        self, error: openai.APIStatusError, temperature: float | None, *, repeated: bool = False
    ) -> Accepted | None:
        """Returns the next shape to try, or None if any other request would also be refused. A 4xx response costs
        nothing, so retries are cheap. Servers may also return a 5xx response for an unsupported parameter, so a
        `repeated` failure is treated as a refusal."""
        words = json.dumps(error.body, default=str) if isinstance(error.body, (dict, list, str)) else ""
        status = error.status_code
        if status in (401, 402, 403, 413, 429):
            return None
        refused = status in (400, 405, 422, 501) or (repeated and status in (500, 502))
        if refused and self.temperature and temperature is not None and re.search("temperature|sampling", words):
            return replace(self, temperature=False)
        if (refused or status == 500) and self.system and _SYSTEM_WORDS.search(words):
            return replace(self, system=False)
        if refused and not self.stream and _STREAM_WORDS.search(words):
            return replace(self, stream=True)
        if refused and (limit := _LIMIT_WORDS.search(words)):
            return self._limited("max_completion_tokens" if limit[1] else "max_tokens", words)
        if self.schema and (refused or _SCHEMA_WORDS.search(words)):
            return replace(self, schema=False)
        if refused and self.system and not TOO_LONG.search(words):
            return replace(self, system=False)
        return replace(self, stream=True) if repeated and refused and not self.stream else None

    def _limited(self, limit: str, words: str) -> Accepted | None:
        """Returns the next shape after an error that mentions the parameter `limit`."""
        if self.limit is None:
            return replace(self, limit=limit)
        # The numbers in the error are the rejected value, or lower values (the model's maximum, or the space left in
        # its context).
        numbers = [int(number.replace(",", "")) for number in _NUMBER.findall(words)]
        half = self.room // 2 if self.room in numbers and self.room > _LEAST_ROOM else 0
        if room := max((number for number in numbers if number < self.room), default=half):
            return replace(self, room=room)
        renamed = self.limit == "max_tokens" and "max_completion_tokens" in words
        return replace(self, limit="max_completion_tokens") if renamed else None


def with_schema(question: str, schema: Mapping[str, Any]) -> str:
    """Returns the prompt for a model that does not accept a schema parameter."""
    return f"{question}\n\n{_FENCED}{json.dumps(schema)}"


def whole_of_stream(body: bytes) -> Any:
    """Returns the completion in a body of server-sent events, with any `error` that ended the stream. Raises
    `ValueError` if an event contains invalid JSON."""
    pieces: dict[str, list[str]] = {}
    last: dict[str, Any] = {}
    finish = None
    for line in body.decode("utf-8-sig", "replace").split("\n"):
        data = line.removeprefix("data:").strip()
        if not data.startswith("{"):
            continue
        part = json.loads(data)
        last |= {key: value for key, value in part.items() if key in ("usage", "error") and value}
        for choice in part.get("choices") or ():
            for field, value in (choice.get("delta") or choice.get("message") or {}).items():
                pieces.setdefault(field, []).append(text_of(value))
            finish = choice.get("finish_reason") or finish
    if not pieces:
        return last
    message = {field: "".join(texts) for field, texts in pieces.items()}
    return {"choices": [{"message": message, "finish_reason": finish}], **last}


def text_of(content: Any) -> str:
    """Returns a message's text. Some endpoints return the text split into parts, or already parsed."""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        texts = "".join(text_of(part) for part in parts if part.keys() & _PARTS)
        return texts or "".join(text_of(part.get("thinking")) for part in parts)
    if isinstance(content, dict):
        return next((text_of(content[key]) for key in _PARTS if key in content), json.dumps(content))
    return content if isinstance(content, str) else ""
