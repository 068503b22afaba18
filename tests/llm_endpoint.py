"""Provides a scripted endpoint that speaks OpenAI's protocol, over real HTTP on loopback.

with ScriptedEndpoint([{"name": "x"}, status(500), "no JSON"]) as endpoint:
    ... endpoint.url, endpoint.requests
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from pydantic import BaseModel

from tests.loopback import QuietHandler, Served


@dataclass(frozen=True)
class Said:
    """An answer with everything that an endpoint reports apart from the text. By default, a text's token count is its
    number of characters divided by 4."""

    content: str | None
    finish: str = "stop"
    refusal: str | None = None
    input_tokens: int | None = None
    cached_tokens: int = 0
    output_tokens: int | None = None


Fault = Callable[["Handler"], None]
Answer = str | Mapping[str, Any] | BaseModel | Said | Fault


class ScriptedEndpoint(Served):
    """An endpoint with scripted `answers`, one per request in order, or a function of the request's body. An answer is
    a text, an object to send as JSON, `Said`, or a fault such as `status(500)` or `silent`. Sends HTTP 400 if no
    answers are left. `requests` contains the received bodies, and `keys` contains their authorization headers."""

    def __init__(self, answers: Iterable[Answer] | Callable[[dict[str, Any]], Answer] = ()) -> None:
        self._script = answers if callable(answers) else None
        self.answers = [] if callable(answers) else list(answers)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.released = threading.Event()
        self.lock = threading.Lock()
        super().__init__(Handler)
        self.url += "/v1"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        super().__exit__(kind, error, trace)

    def next(self, body: dict[str, Any]) -> Answer:
        if self._script is not None:
            return self._script(body)
        with self.lock:
            return self.answers.pop(0) if self.answers else status(400, "the script has no answer left")


def asked(body: Mapping[str, Any]) -> str:
    """Returns the text of a request's last message."""
    text: str = body["messages"][-1]["content"]
    return text


class Handler(QuietHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        endpoint: ScriptedEndpoint = self.server.owner
        with endpoint.lock:
            endpoint.requests.append(body)
            endpoint.keys.append(self.headers.get("authorization", ""))
        answer = endpoint.next(body)
        if isinstance(answer, BaseModel):
            answer = answer.model_dump_json()
        if isinstance(answer, Mapping):
            answer = json.dumps(answer)
        if isinstance(answer, str):
            answer = Said(answer)
        if isinstance(answer, Said):
            self.reply(200, json.dumps(completion(answer, body)).encode())
        else:
            answer(self)

    def reply(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


def completion(said: Said, body: Mapping[str, Any]) -> dict[str, Any]:
    sent = sum(len(message["content"]) for message in body["messages"]) // 4
    answered = len(said.content or said.refusal or "") // 4
    read = sent if said.input_tokens is None else said.input_tokens
    written = answered if said.output_tokens is None else said.output_tokens
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "finish_reason": said.finish,
                "message": {"role": "assistant", "content": said.content, "refusal": said.refusal},
            }
        ],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": said.cached_tokens},
        },
    }


def status(code: int, message: str = "", kind: str = "", **headers: str) -> Fault:
    body = json.dumps({"error": {"message": message, "code": kind or None}}).encode()
    return lambda handler: handler.reply(code, body, **headers)


def raw(body: bytes, code: int = 200) -> Fault:
    return lambda handler: handler.reply(code, body)


def cut(handler: Handler) -> None:
    """Breaks the connection in the middle of an answer."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def silent(handler: Handler) -> None:
    """Sends nothing until the test ends."""
    handler.server.owner.released.wait(120)
    handler.close_connection = True


def trickling(handler: Handler) -> None:
    """Keeps sending single bytes and never finishes the answer."""
    handler.send_response(200)
    handler.end_headers()
    handler.close_connection = True
    while not handler.server.owner.released.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()
