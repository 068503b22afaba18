"""The request parameters that a model accepts, learned from the endpoint's refusals."""

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

ROOM = 16_384
"""Answer tokens for endpoints without a limit, or with a low one."""
_FENCED = (
    "Answer with exactly one JSON object, between ```json and ```, and nothing else. It has to be valid against this "
    "JSON schema:\n"
)
_SCHEMA_WORDS = re.compile(
    r"response.?format|json.?schema|structured.?output|grammar|guided|requested parameters", re.I
)
_LIMIT_WORDS = re.compile(r"max_(?:completion_)?tokens", re.I)
_SYSTEM_WORDS = re.compile(r"\broles?\b|\b(?:system|developer) (?:message|prompt|instruction)", re.I)
_STREAM_WORDS = re.compile(r"\bonly supports? stream|stream.{0,20}(?:must be|required)|non-?stream", re.I)

_PARTS = ("text", "function", "arguments")
"""Fields that hold the text of a part of a message or of the call of a tool."""


@dataclass(frozen=True)
class Accepted:
    """The shape of requests to a model: schema as a parameter or in the prompt, temperature, system message, streaming,
    and the parameter `limit` for the number of answer tokens, with its value `room`."""

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
        """The body of a request, without the model. `parameters` come from the settings."""
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

    def after(self, error: openai.APIStatusError, temperature: float | None) -> Accepted | None:
        """The next shape to try, or None if another request would be refused too. A 4xx costs nothing, so one more try
        is cheap."""
        words = json.dumps(error.body, default=str) if isinstance(error.body, (dict, list, str)) else ""
        if error.status_code in (401, 402, 403, 413, 429):
            return None
        refused = error.status_code in (400, 422)
        if refused and self.temperature and temperature is not None and re.search("temperature|sampling", words):
            return replace(self, temperature=False)
        if (refused or error.status_code == 500) and self.system and _SYSTEM_WORDS.search(words):
            return replace(self, system=False)
        if refused and not self.stream and _STREAM_WORDS.search(words):
            return replace(self, stream=True)
        if refused and (limit := _LIMIT_WORDS.search(words)):
            if self.limit is None:
                return replace(self, limit=limit[0].lower())
            # The refusal of a value names lower ones: the model's own maximum, or what is left of its context.
            lower = [number for each in re.findall(r"\b\d{4,}\b", words) if (number := int(each)) < self.room]
            if lower:
                return replace(self, room=max(lower))
            renamed = self.limit == "max_tokens" and "max_completion_tokens" in words
            return replace(self, limit="max_completion_tokens") if renamed else None
        if self.schema and (refused or _SCHEMA_WORDS.search(words)):
            return replace(self, schema=False)
        return None


def with_schema(question: str, schema: Mapping[str, Any]) -> str:
    """The prompt for a model that does not accept a schema parameter."""
    return f"{question}\n\n{_FENCED}{json.dumps(schema)}"


def whole_of_stream(body: bytes) -> Any:
    """The completion in a body of server-sent events, with the `error` that ended it. Raises `ValueError`."""
    pieces: dict[str, list[str]] = {}
    last: dict[str, Any] = {}
    finish = None
    for line in body.decode("utf-8", "replace").splitlines():
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data == "[DONE]":
            continue
        part = json.loads(data)
        last |= {key: value for key, value in part.items() if key in ("usage", "error") and value}
        for choice in part.get("choices") or ():
            for field, value in (choice.get("delta") or {}).items():
                pieces.setdefault(field, []).append(text_of(value))
            finish = choice.get("finish_reason") or finish
    if not pieces:
        return last
    message = {field: "".join(texts) for field, texts in pieces.items()}
    return {"choices": [{"message": message, "finish_reason": finish}], **last}


def text_of(content: Any) -> str:
    """A message's text. Some endpoints split it into parts, or parse it."""
    if isinstance(content, list):
        return "".join(text_of(part) for part in content if isinstance(part, dict) and part.keys() & _PARTS)
    if isinstance(content, dict):
        return next((text_of(content[key]) for key in _PARTS if key in content), json.dumps(content))
    return content if isinstance(content, str) else ""
