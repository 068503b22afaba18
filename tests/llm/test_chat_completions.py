"""Checks answers and faults of an endpoint, over real HTTP and with the real SDK."""

import json
import re

import pytest

from tests.llm.desk import GOOD, Desk, answers, ask, fails, outcomes
from tests.llm_endpoint import Answer, Said, cut, raw, silent, status, trickling
from xkg.errors import AnswerError, ModelUnavailableError


def test_an_endpoint_that_ignores_structured_output_gets_the_schema_in_words(desk: Desk) -> None:
    desk.script("Gladly! It is the kernel.", GOOD, GOOD)
    with desk.open() as model:
        assert ask(model).name == "kernel"
        assert ask(model, "other").name == "kernel"
    assert ["response_format" in request for request in desk.endpoint.requests] == [True, False, False]


def test_an_answer_in_parts_is_one_answer(desk: Desk) -> None:
    parts = [{"type": "text", "text": json.dumps(GOOD)[:9]}, {"type": "text", "text": json.dumps(GOOD)[9:]}, 3]
    body = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}
    desk.script(raw(json.dumps(body).encode()))
    answers(desk)
    assert desk.calls[0].input_tokens > 0, "what the endpoint does not tell is estimated"


def test_an_answer_that_was_cut_is_asked_for_in_fewer_words(desk: Desk) -> None:
    whole = json.dumps({"name": "x" * 9000, "lines": []})
    cut = Said(whole[:8000], finish="length")
    desk.script(cut, cut, GOOD)
    answers(desk)
    assert desk.endpoint.requests[1]["max_tokens"] > 8000
    again = desk.endpoint.requests[2]["messages"]
    assert "fewer words" in again[-1]["content"]
    assert len(again[-2]["content"]) < 3000, "what was cut for its length is not sent back whole"


@pytest.mark.parametrize(
    "fault",
    [
        status(429, retry_after="0.01"),
        status(503),
        status(408),
        cut,
        raw(b'{"error": {"message": "upstream is busy", "code": 502}}'),
        raw(b""),
    ],
)
def test_what_passes_is_tried_again(desk: Desk, fault: Answer) -> None:
    desk.script(fault, fault, GOOD)
    answers(desk)
    assert desk.asked == 3
    assert outcomes(desk) == (1, 0, 0)


def test_an_endpoint_that_stays_down_is_given_up(desk: Desk) -> None:
    desk.script(*[status(503, "overloaded")] * 500)
    line = fails(desk, ModelUnavailableError)
    assert "ground: 127.0.0.1:" in line
    assert re.search(r"HTTP 503 \(overloaded\); try again later; gave up after \d+ s of trying$", line)
    assert 2 <= desk.asked < 500
    assert outcomes(desk) == (1, 1, 0)


def test_who_waited_meanwhile_does_not_begin_to_try_as_well(desk: Desk) -> None:
    desk.script(*[status(503)] * 500)
    with desk.open(concurrency=1) as model:
        with pytest.raises(ModelUnavailableError, match="HTTP 503"):
            ask(model, "a")
        tried = desk.asked
        for text in ("b", "c"):
            with pytest.raises(ModelUnavailableError, match="HTTP 503"):
                ask(model, text)
    assert desk.asked == tried


def test_a_pause_longer_than_the_patience_is_not_waited_for(desk: Desk) -> None:
    desk.script(status(429, "slow down", retry_after="3600"))
    assert "it requested a pause of 3600 s" in fails(desk, ModelUnavailableError)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (status(401, "bad key"), "rejects the key (HTTP 401); set XKG_LLM_KEY"),
        (status(403), "rejects the key (HTTP 403)"),
        (status(403, "Country, region, or territory not supported"), "refuses to answer"),
        (status(401, "Your project is in a region without access"), "a region without access"),
        (raw(b"<title>Access denied by a firewall</title>", 403), "denied by a firewall"),
        (status(400, "invalid model ID"), "check the name of the model"),
        (status(429, "You exceeded your current quota", "insufficient_quota"), "quota at 127.0.0.1"),
        (status(402, "Insufficient Balance"), "is exhausted (Insufficient Balance); add credit"),
        (status(404, "The model `o4-mini`\ndoes not exist \x1b[2J"), "(The model `o4-mini` does not exist"),
        (
            raw(b"<html>It works!</html>"),
            "did not answer with a chat completion; check llm.base_url (it often ends in /v1)",
        ),
        (raw(b'{"choices": []}'), "did not answer with a chat completion"),
        (raw(b'{"choices": ' * 100_000), "did not answer with a chat completion"),
        (raw(b'{"error": {"message": "no such model"}}'), "answered with an error (no such model); check llm.model"),
        (raw(b'{"choices": null, "base_resp": {"status_msg": "login fail"}}'), "answered with an error (login fail)"),
        (raw(b'data: {"choices": []}\n\ndata: {"error": {"message": "idle"}}\n'), "answered with an error (idle)"),
    ],
)
def test_what_does_not_pass_is_one_line_that_says_what_to_do(desk: Desk, fault: Answer, words: str) -> None:
    desk.script(*[fault] * 3)
    line = fails(desk, ModelUnavailableError)
    assert words in line
    assert line.startswith("ground: ")
    assert "\\x1b" in line or "model `" not in line


@pytest.mark.parametrize("fault", [silent, trickling])
def test_a_call_has_its_time_however_its_body_comes(desk: Desk, fault: Answer) -> None:
    desk.script(fault, GOOD)
    answers(desk, seconds=1)
    assert outcomes(desk) == (2, 1, 0)


def test_an_endpoint_that_never_answers_is_given_up(desk: Desk) -> None:
    desk.script(*[silent] * 20)
    with desk.open(seconds=0.1) as model:
        with pytest.raises(AnswerError):
            ask(model, "a")
        with pytest.raises(ModelUnavailableError, match=r"did not answer 4 calls in a row.*llm\.seconds"):
            ask(model, "b")


def test_an_answer_without_end_is_cut_off(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xkg.llm.chat_completions._MAX_BYTES", 1000)
    desk.script(Said("x" * 10_000))
    assert "sent an endless response" in fails(desk, ModelUnavailableError)
