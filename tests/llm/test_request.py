"""Tests endpoints that refuse a part of a request or answer in another form."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.clock import TurnedClock
from tests.llm_endpoint import Answer, Handler, Said, ScriptedEndpoint, status
from xkg.config import LlmSettings
from xkg.llm.chat_completions import ChatCompletions
from xkg.llm.credentials import access
from xkg.llm.endpoint import Reply, Request

MESSAGES = [{"role": "system", "content": "You."}, {"role": "user", "content": "Say."}]
GOOD = '{"a": 1}'


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_LLM_KEY", "sk-x")


def replies(script: Callable[[dict[str, Any]], Answer], **settings: Any) -> tuple[list[Reply], ScriptedEndpoint]:
    with ScriptedEndpoint(script) as endpoint:
        shape: dict[str, Any] = {"seconds": 20, "patience": 0.1, **settings}
        reached = ChatCompletions(access(LlmSettings(base_url=endpoint.url)), **shape)
        try:
            asked = [reached.complete(Request("m", MESSAGES, {"type": "object"}, 0.5)) for _ in range(2)]
        finally:
            reached.close()
    return asked, endpoint


def has_limit(body: dict[str, Any]) -> bool:
    return "max_tokens" in body or "max_completion_tokens" in body


@pytest.mark.parametrize(
    ("accepts", "code", "words"),
    [
        (lambda body: "response_format" not in body, 500, "invalid JSON schema in format"),
        (lambda body: "response_format" not in body, 500, "Failed to parse grammar"),
        (lambda body: "response_format" not in body, 400, "guided_json is not supported"),
        (lambda body: "response_format" not in body, 404, "No endpoints can handle the requested parameters."),
        (lambda body: "temperature" not in body, 400, "Unsupported parameter: 'temperature'"),
        (lambda body: "temperature" not in body, 422, "this model has no sampling parameters"),
        (lambda body: body["messages"][0]["role"] != "system", 400, "System role not supported"),
        (lambda body: body["messages"][0]["role"] != "system", 500, "Only user and assistant roles are supported!"),
        (lambda body: body["messages"][0]["role"] != "system", 400, "only 'user' and 'assistant' allowed"),
        (lambda body: body.get("stream"), 400, "Only stream=true is supported"),
        (has_limit, 400, "max_tokens: field required"),
        (lambda body: body.get("max_tokens") == 4096, 400, "max_tokens must be at most 4,096"),
        (lambda body: "max_completion_tokens" in body, 400, "max_tokens is unsupported: set max_completion_tokens"),
    ],
)
def test_what_an_endpoint_refuses_is_left_out(accepts: Callable[[dict[str, Any]], bool], code: int, words: str) -> None:
    asked, endpoint = replies(lambda body: GOOD if accepts(body) else status(code, words))
    assert [reply.text for reply in asked] == [GOOD, GOOD]
    assert len(endpoint.requests) <= 4
    assert accepts(endpoint.requests[-1])
    assert "You." in json.dumps(endpoint.requests[-1]["messages"])


@pytest.mark.parametrize("code", [500, 502])
@pytest.mark.parametrize(
    "accepts",
    [
        lambda body: "response_format" not in body,
        lambda body: body["messages"][0]["role"] != "system",
        lambda body: body.get("stream"),
    ],
)
def test_what_a_server_fails_on_without_a_reason_is_left_out(
    accepts: Callable[[dict[str, Any]], bool], code: int
) -> None:
    asked, endpoint = replies(
        lambda body: GOOD if accepts(body) else status(code, "upstream error"), patience=60, clock=TurnedClock()
    )
    assert [reply.text for reply in asked] == [GOOD, GOOD]
    assert len(endpoint.requests) <= 6


def test_a_failure_that_passes_changes_no_request() -> None:
    failures = iter([status(500), status(503), status(503)])
    _, endpoint = replies(lambda _: next(failures, GOOD), patience=60, clock=TurnedClock())
    assert all(body == endpoint.requests[0] for body in endpoint.requests)


def test_a_limit_that_the_question_leaves_no_room_for_is_halved() -> None:
    def answer(body: dict[str, Any]) -> Answer:
        room = body.get("max_tokens", 16)
        line = f"'max_tokens' or 'max_completion_tokens' is too large: {room}. The context has 4096 tokens, you use 20"
        return status(400, line) if room + 20 > 4096 else Said(GOOD if room > 16 else "{", "length", output_tokens=9)

    asked, endpoint = replies(answer)
    assert [reply.text for reply in asked] == [GOOD, GOOD]
    assert endpoint.requests[-1]["max_tokens"] == 2048


def content(text: str) -> dict[str, Any]:
    return {"reasoning": "Well ", "content": text}


def thought(text: str) -> dict[str, Any]:
    return {"content": None, "reasoning_content": text}


def call(text: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"index": 0, "function": {"arguments": text}}]}


def events(handler: Handler, delta: Callable[[str], dict[str, Any]] = content) -> None:
    parts: list[Any] = [{"choices": [{"delta": delta(text), "finish_reason": None}]} for text in (GOOD[:4], GOOD[4:])]
    parts += [{"choices": [{"delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": {"completion_tokens": 7}}]
    lines = [": hello", *(f"data: {json.dumps(part)}\n" for part in parts), "data: [DONE]", ""]
    handler.reply(200, "\n".join(lines).encode())


def lines(handler: Handler) -> None:
    """Sends a stream without "data:", in which a text contains a Unicode line separator."""
    parts = ({"choices": [{"message": {"content": text}}]} for text in (GOOD[:4], "\u2028", GOOD[4:]))
    end = {"choices": [], "usage": {"completion_tokens": 7}}
    handler.reply(200, "\r\n".join(json.dumps(part, ensure_ascii=False) for part in (*parts, end)).encode("utf-8-sig"))


def test_each_line_of_a_stream_is_one_part() -> None:
    assert replies(lambda _: lines)[0][0].text == f"{GOOD[:4]}\u2028{GOOD[4:]}"


@pytest.mark.parametrize(
    "script",
    [
        *(lambda _, delta=delta: partial(events, delta=delta) for delta in (content, thought, call)),
        lambda body: events if body.get("stream") else status(400, "This model only supports stream mode"),
    ],
)
def test_a_stream_is_read_as_one_answer(script: Callable[[dict[str, Any]], Answer]) -> None:
    asked, _ = replies(script)
    assert [(reply.text, reply.ending, reply.output_tokens) for reply in asked] == [(GOOD, "ok", 7)] * 2


@pytest.mark.parametrize("finish", ["length", "MAX_TOKENS", "model_length"])
def test_an_answer_that_a_low_limit_cut_is_asked_for_with_more_room_and_both_are_counted(finish: str) -> None:
    asked, endpoint = replies(
        lambda body: Said(GOOD, output_tokens=30) if has_limit(body) else Said("{", finish=finish, output_tokens=10)
    )
    assert [(reply.text, reply.output_tokens) for reply in asked] == [(GOOD, 40), (GOOD, 30)]
    assert len(endpoint.requests) == 3


def test_a_limit_that_cannot_be_raised_leaves_the_cut_answer() -> None:
    asked, _ = replies(
        lambda body: status(400, "max_tokens is too large") if has_limit(body) else Said("{", finish="length")
    )
    assert [reply.ending for reply in asked] == ["cut", "cut"]


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"reasoning_content": GOOD},
        {"reasoning_details": [{"type": "reasoning.text", "text": GOOD}]},
        {"tool_calls": [{"type": "function", "function": {"name": "json", "arguments": GOOD}}]},
        {"function_call": {"name": "json", "arguments": {"a": 1}}},
        {"parsed": {"a": 1}},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": GOOD}]}]},
    ],
)
def test_an_answer_outside_of_the_content_is_the_answer(elsewhere: dict[str, Any]) -> None:
    def answer(handler: Handler) -> None:
        message = {"role": "assistant", "content": None, **elsewhere}
        handler.reply(200, json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())

    assert replies(lambda _: answer)[0][0].text == GOOD


def test_parameters_of_the_settings_are_sent() -> None:
    _, endpoint = replies(lambda _: GOOD, parameters={"reasoning_effort": "low"}, headers={"Authorization": "Bearer t"})
    assert endpoint.requests[0]["reasoning_effort"] == "low"
    assert endpoint.keys[0] == "Bearer t"
