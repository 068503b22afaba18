"""Imitates the services behind agent programs, on loopback. Streams server-sent events as Anthropic's messages,
OpenAI's responses and chat completions, and Gemini's generateContent do."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.loopback import QuietHandler, Served

IN, CACHED, OUT = 1000, 400, 50
"""Tokens of every answer."""


class AgentServer(Served):
    """Answers each request with the text that `answer` returns for the request's body. `requests` contains the
    bodies."""

    def __init__(self, answer: Callable[[Mapping[str, Any]], str]) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        super().__init__(_Handler)


class _Handler(QuietHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.partition("?")[0]
        make = next((make for end, make in _PROTOCOLS.items() if path.endswith(end)), None)
        if make is None:
            self.send_error(404)
            return
        self.server.owner.requests.append(body)
        events = make(body, self.server.owner.answer(body))
        text = "".join(
            f"event: {kind}\ndata: {json.dumps(e)}\n\n" if kind else f"data: {json.dumps(e)}\n\n" for kind, e in events
        )
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self) -> None:
        self.send_error(404)


Events = Iterable[tuple[str, Mapping[str, Any]]]


def _messages(body: Mapping[str, Any], answer: str) -> Events:
    """Follows https://docs.anthropic.com/en/api/messages-streaming. The answer calls the only tool."""
    usage = {"input_tokens": IN - CACHED, "cache_read_input_tokens": CACHED, "output_tokens": OUT}
    block: dict[str, Any] = {"type": "tool_use", "id": "t", "name": body["tools"][0]["name"], "input": {}}
    delta = {"type": "input_json_delta", "partial_json": answer}
    whole = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "content": [], "usage": usage}
    ending = {"stop_reason": "tool_use", "stop_sequence": None}
    for event in (
        {"type": "message_start", "message": whole},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": usage},
        {"type": "message_stop"},
    ):
        yield str(event["type"]), event


def _responses(body: Mapping[str, Any], answer: str) -> Events:
    """Follows https://platform.openai.com/docs/api-reference/responses-streaming."""
    said = {"type": "output_text", "text": answer, "annotations": []}
    item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [said]}
    usage = {
        "input_tokens": IN,
        "input_tokens_details": {"cached_tokens": CACHED},
        "output_tokens": OUT,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": IN + OUT,
    }
    whole = {"id": "r", "object": "response", "status": "completed", "model": body["model"], "output": [item]}
    for event in (
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**whole, "usage": usage}},
    ):
        yield str(event["type"]), event


def _contents(_: Mapping[str, Any], answer: str) -> Events:
    """Follows https://ai.google.dev/api/generate-content."""
    usage = {"promptTokenCount": IN, "candidatesTokenCount": OUT, "cachedContentTokenCount": CACHED}
    content = {"role": "model", "parts": [{"text": answer}]}
    yield "", {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def _completions(body: Mapping[str, Any], answer: str) -> Events:
    """Follows https://platform.openai.com/docs/api-reference/chat-streaming."""
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    usage = {"prompt_tokens": IN, "completion_tokens": OUT, "prompt_tokens_details": {"cached_tokens": CACHED}}
    delta = {"role": "assistant", "content": answer}
    yield "", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield "", {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}


_PROTOCOLS: Mapping[str, Callable[[Mapping[str, Any], str], Events]] = {
    "/v1/messages": _messages,
    "/v1/responses": _responses,
    ":streamGenerateContent": _contents,
    "/v1/chat/completions": _completions,
}
