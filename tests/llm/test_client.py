"""Tests the client of the language model against a scripted endpoint, over real HTTP and with the real SDK."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clock import TurnedClock
from tests.conftest import ROOT
from tests.llm_endpoint import Answer, Said, ScriptedEndpoint, asked, cut, raw, silent, status, trickling
from xkg.config import LlmSettings
from xkg.errors import AnswerError, BudgetError, ConfigError, ModelUnavailableError, StoreError
from xkg.llm.client import AnswerType, Call, LanguageModel, More
from xkg.llm.costs import costs
from xkg.llm.prompt import Prompt

PAPER = "arxiv:1608.04471"
GOOD = {"name": "kernel", "lines": [1, 2]}
PROMPT = Prompt("places", "ground", "code_model", ("text",), "Place", 1, "You find code.", "Where is this?\n{{text}}")


class Place(AnswerType):
    name: str
    lines: tuple[int, ...]


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.endpoint = ScriptedEndpoint()
        self.calls: list[Call] = []

    def open(self, *, patience: float = 20, **settings: Any) -> LanguageModel:
        chosen = LlmSettings(**{"base_url": self.endpoint.url, "seconds": 20, **settings})
        return LanguageModel(chosen, self.folder, self.calls.append, patience=patience, clock=TurnedClock())

    def script(self, *answers: Answer) -> None:
        self.endpoint.answers = list(answers)

    @property
    def asked(self) -> int:
        return len(self.endpoint.requests)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "kg")
    with made.endpoint:
        yield made


def ask(model: LanguageModel, text: str = "some text", *, paper: str = PAPER, **more: Any) -> Place:
    return model.for_paper(paper)(PROMPT, Place, {"text": text}, about="Kernel", **more)


def answers(desk: Desk, **settings: Any) -> None:
    """Checks that the question finally gets the right answer."""
    with desk.open(**settings) as model:
        assert ask(model).name == "kernel"


def fails(desk: Desk, error: type[Exception], **settings: Any) -> str:
    """Returns the error message, which is one line for every fault of the endpoint."""
    with desk.open(**settings) as model, pytest.raises(error) as caught:
        ask(model)
    line = str(caught.value)
    assert "\n" not in line
    assert line.isprintable()
    return line


def outcomes(desk: Desk) -> tuple[int, int, int]:
    total = costs(desk.folder, LlmSettings()).total
    return total.calls, total.unusable, total.reused


# --- questions and answers
# ---------------------------------------------------------------------------------------------


def test_an_answer_comes_as_its_type(desk: Desk) -> None:
    desk.script(GOOD)
    with desk.open(code_model="gpt-4.1-mini") as model:
        assert ask(model) == Place(name="kernel", lines=(1, 2))
    (request,) = desk.endpoint.requests
    assert set(request) == {"model", "messages", "response_format"}, "models differ in what else they take"
    assert request["model"] == "gpt-4.1-mini"
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["response_format"]["json_schema"]["strict"] is True
    assert "some text" in asked(request)


@pytest.mark.parametrize("text", ["", "\ud800 lone", "\x00", "中文 🙂", "{{text}} <<<end text", "x" * 300_000])
def test_any_text_can_be_asked_about(desk: Desk, text: str) -> None:
    desk.script(GOOD)
    with desk.open() as model:
        assert ask(model, text).name == "kernel"
        assert ask(model, text).name == "kernel"
    assert desk.asked == 1


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


# --- the cascade ------------------------------------------------------------------------------------------------------


def test_what_is_wrong_is_asked_again_in_the_same_conversation(desk: Desk) -> None:
    desk.script({"name": "kernel"}, {"name": "kernel", "lines": ["x"]}, GOOD)
    answers(desk)
    last = desk.endpoint.requests[-1]["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert last[2]["content"] == '{"name": "kernel"}'
    assert "lines: Field required" in last[3]["content"]
    assert "lines.0: Input should be a valid integer" in last[5]["content"]
    assert outcomes(desk) == (3, 2, 0)


@pytest.mark.parametrize("expert", ["o3", "o4-mini"])
def test_the_expert_is_asked_afresh_at_last(desk: Desk, expert: str) -> None:
    desk.script("no", "no", "no", GOOD)
    answers(desk, expert_model=expert)
    first, *_, last = desk.endpoint.requests
    assert [request["model"] for request in desk.endpoint.requests] == ["o4-mini"] * 3 + [expert]
    assert len(last["messages"]) == len(first["messages"]) == 2


def test_a_question_without_a_usable_answer_says_which_and_why(desk: Desk) -> None:
    cut = Said('{"name": "ker', finish="length")
    desk.script("no", Said(None, refusal="I cannot"), cut, cut, {"name": 3, "lines": []})
    line = fails(desk, AnswerError)
    assert line.startswith("ground, Kernel: no usable answer after 4 attempts, the last: name: Input should be a valid")
    assert "llm.expert_model" in line
    assert outcomes(desk) == (4, 4, 0), "a question that was asked again with more room is one"


def test_what_a_model_says_cannot_break_out_of_the_line(desk: Desk) -> None:
    desk.script(*[{"name": "x", "lines": [], "\x1b[2J\nkey": 1}] * 4)
    assert "?[2J key: Extra inputs are not permitted" in fails(desk, AnswerError)


@pytest.mark.parametrize(
    "refusal", [Said(None, refusal="I'm sorry."), Said("I'm sorry.", finish="content_filter"), Said(None), Said("")]
)
def test_a_refusal_is_asked_again(desk: Desk, refusal: Said) -> None:
    desk.script(refusal, GOOD)
    answers(desk)
    assert all(message["content"] for message in desk.endpoint.requests[1]["messages"]), "some refuse empty messages"


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
    "barred",
    [
        status(400, "This model's maximum context length is 128000 tokens.", "context_length_exceeded"),
        status(400, "the request exceeds the available context size"),
        status(413),
        status(400, "The response was filtered by our content management policy", "content_filter"),
    ],
)
def test_a_question_that_the_endpoint_bars_is_no_fault_of_the_others(desk: Desk, barred: Answer) -> None:
    desk.endpoint = ScriptedEndpoint(lambda body: barred if body["model"] == "o4-mini" else GOOD)
    with desk.endpoint, desk.open(expert_model="o3") as model:
        assert ask(model).name == "kernel"
    again = ScriptedEndpoint(lambda body: barred if "long" in asked(body) else GOOD)
    desk.endpoint = again
    with again, desk.open() as model:
        with pytest.raises(AnswerError, match="ground, Kernel"):
            ask(model, "long")
        assert ask(model, "short").name == "kernel"


# --- stored answers ---------------------------------------------------------------------------------------------------


def test_no_question_is_paid_for_twice(desk: Desk) -> None:
    desk.script("no", GOOD)
    for _ in range(3):
        with desk.open() as model:
            assert ask(model).name == "kernel"
    assert desk.asked == 2
    assert [call.cached for call in desk.calls] == [False, False, True, True, True, True]
    assert outcomes(desk) == (2, 1, 4)


def test_a_kept_answer_is_recalled_without_asking_and_only_where_it_can_be_used(desk: Desk) -> None:
    desk.script(GOOD)
    with desk.open() as model:
        assert model.recall(PROMPT, Place, {"text": "some text"}) is None
        ask(model)
        told = len(desk.calls)
        recalled = model.recall(PROMPT, Place, {"text": "some text"})
        assert recalled == Place(name="kernel", lines=(1, 2))
        assert model.recall(PROMPT, Place, {"text": "some text"}, check=lambda _: "not this one") is None
        assert model.recall(PROMPT, Place, {"text": "another text"}) is None
        assert (desk.asked, len(desk.calls)) == (1, told)
    with pytest.raises(ModelUnavailableError, match="closed"):
        model.recall(PROMPT, Place, {"text": "some text"})


def test_an_answer_is_kept_by_what_was_asked_and_not_by_the_address_or_the_form(desk: Desk) -> None:
    desk.script(status(400, "no response_format here"), json.dumps(GOOD))
    with desk.open() as model:
        ask(model)
    with ScriptedEndpoint([GOOD]) as other, desk.open(base_url=other.url) as model:
        ask(model)
        assert not other.requests
        ask(model, "another text")
        assert len(other.requests) == 1
    with ScriptedEndpoint([GOOD]) as other, desk.open(base_url=other.url, model="another-model") as model:
        ask(model)
        assert len(other.requests) == 1


def test_who_asks_the_same_at_the_same_time_waits_for_one_answer(desk: Desk) -> None:
    together = threading.Barrier(6)
    desk.script(GOOD)

    def one(model: LanguageModel) -> Place:
        together.wait()
        return ask(model)

    with desk.open(concurrency=6) as model, ThreadPoolExecutor(6) as pool:
        places = [future.result() for future in [pool.submit(one, model) for _ in range(6)]]
    assert {place.name for place in places} == {"kernel"}
    assert desk.asked == 1


def test_two_machines_that_come_to_one_question_at_the_same_moment_pay_once(desk: Desk) -> None:
    place, together = threading.Lock(), threading.Barrier(2)

    @contextmanager
    def once(_: bytes) -> Iterator[None]:
        together.wait()
        with place:
            yield

    def machine() -> Place:
        settings = LlmSettings(base_url=desk.endpoint.url, seconds=20)
        with LanguageModel(settings, desk.folder, once=once, clock=TurnedClock()) as model:
            return ask(model)

    desk.script(GOOD)
    with ThreadPoolExecutor(2) as pool:
        places = [future.result() for future in [pool.submit(machine) for _ in range(2)]]
    assert {place.name for place in places} == {"kernel"}
    assert desk.asked == 1


def test_no_more_calls_run_at_a_time_than_allowed(desk: Desk) -> None:
    running, most = 0, 0
    pair = threading.Barrier(2)

    def answer(body: dict[str, Any]) -> Answer:
        nonlocal running, most
        with desk.endpoint.lock:
            running += 1
            most = max(most, running)
        pair.wait(60)  # the barrier passes only if two calls are running
        time.sleep(0.02)
        with desk.endpoint.lock:
            running -= 1
        return {"name": asked(body)[-30:], "lines": []}

    desk.endpoint = ScriptedEndpoint(answer)
    with desk.endpoint, desk.open(concurrency=2) as model, ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(lambda n: ask(model, f"text {n}"), range(8)))) == 8
    assert most == 2


# --- the budget -------------------------------------------------------------------------------------------------------


def test_a_build_stops_before_it_costs_more_than_allowed_and_goes_on_with_more(desk: Desk) -> None:
    dear = Said(json.dumps(GOOD), input_tokens=10_000, output_tokens=10_000)  # costs 5.5 cents
    desk.endpoint.answers = [dear] * 4
    with desk.open(max_cost=0.1) as model:
        ask(model, "1")
        ask(model, "2")
        with pytest.raises(BudgetError) as caught:
            ask(model, "3")
    assert desk.asked == 2
    line = str(caught.value)
    assert line.startswith(f"ground: $0.11 of the $0.10 allowed for {PAPER} has been spent")
    assert "--max-cost" in line
    with desk.open(max_cost=0.1) as model:
        assert ask(model, "1").name == "kernel", "what is kept costs nothing"
        with pytest.raises(BudgetError):
            ask(model, "3")
        assert ask(model, "3", paper="arxiv:other").name == "kernel", "each paper has its own budget"
    with desk.open(max_cost=0.5) as model:
        assert ask(model, "4").name == "kernel"


def test_a_budget_of_the_whole_graph_holds_for_all_papers_together(desk: Desk) -> None:
    desk.endpoint.answers = [Said(json.dumps(GOOD), input_tokens=10_000, output_tokens=10_000)] * 4  # costs 5.5 cents
    with desk.open(max_total_cost=0.1, max_cost=1) as model:
        ask(model, "1")
        ask(model, "2", paper="arxiv:other")
        with pytest.raises(BudgetError, match=r"\$0.11 of the \$0.10 allowed for all papers .* --max-total-cost"):
            ask(model, "3", paper="arxiv:third")
    assert desk.asked == 2


def test_calls_under_way_count_with_what_they_may_cost(desk: Desk) -> None:
    """Only as many parallel calls start as the budget allows. The remaining calls start later if the budget still
    allows them."""
    cheap = Said(json.dumps(GOOD), input_tokens=10, output_tokens=10)
    desk.endpoint = ScriptedEndpoint(lambda _: cheap)
    most = 0

    def watch(_: Call) -> None:
        nonlocal most
        most += 1

    with desk.endpoint:
        settings = LlmSettings(base_url=desk.endpoint.url, max_cost=0.025, concurrency=8)  # pays for two calls
        with LanguageModel(settings, desk.folder, watch) as model, ThreadPoolExecutor(8) as pool:
            places = list(pool.map(lambda n: ask(model, f"text {n}"), range(8)))
    assert len(places) == most == 8


def test_no_budget_holds_for_a_model_without_a_price(desk: Desk) -> None:
    with pytest.raises(ConfigError, match=r"a budget cannot be enforced for mine, .* llm\.prices"):
        desk.open(code_model="mine", max_cost=1)
    desk.script(GOOD)
    with desk.open(model="mine") as model:
        ask(model)
    with desk.open(max_cost=1) as model, pytest.raises(ConfigError, match="earlier calls have no price"):
        ask(model)


# --- an endpoint that fails -------------------------------------------------------------------------------------------


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


# --- interruptions ----------------------------------------------------------------------------------------------------


@pytest.fixture
def arrived(desk: Desk) -> Iterator[threading.Event]:
    """Makes the endpoint silent, and returns an event that is set by the first question."""
    come, own = threading.Event(), desk.endpoint

    def hang(_: dict[str, Any]) -> Answer:
        come.set()
        return silent

    desk.endpoint = ScriptedEndpoint(hang)
    with desk.endpoint:
        yield come
    desk.endpoint = own


def test_a_door_that_closes_lets_nobody_wait(desk: Desk, arrived: threading.Event) -> None:
    with desk.open() as model, ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(ask, model, f"text {n}") for n in range(3)]
        assert arrived.wait(60)
        model.close()
        for future in waiting:
            with pytest.raises(ModelUnavailableError, match="closed"):
                future.result(60)
        with pytest.raises(ModelUnavailableError, match="closed"):
            ask(model)


SCRIPT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from pathlib import Path
from xkg.config import LlmSettings
from xkg.llm.client import AnswerType, LanguageModel
from xkg.llm.prompt import Prompt

class Place(AnswerType):
    name: str
    lines: tuple[int, ...]

PROMPT = Prompt("places", "ground", "code_model", ("text",), "Place", 1, "You find code.", "Where is this?\\n{{text}}")

url, folder, what = sys.argv[1:]
def check(place):
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
with LanguageModel(LlmSettings(base_url=url), Path(folder)) as model:
    for text in ("1", "2"):
        print(model.for_paper("arxiv:1")(PROMPT, Place, {"text": text}, check=check).name, flush=True)
"""


def started(desk: Desk, what: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, desk.endpoint.url, str(desk.folder), what]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_an_answer_is_not_asked_for_again_after_a_kill_before_its_use(desk: Desk) -> None:
    desk.script(GOOD, GOOD)
    with started(desk, "die") as process:
        assert process.wait(60) == -signal.SIGKILL
    assert desk.asked == 1
    with desk.open() as model:
        assert [ask(model, text, paper="arxiv:1").name for text in ("1", "2")] == ["kernel", "kernel"]
    assert desk.asked == 2
    assert outcomes(desk) == (2, 0, 1)


def test_ctrl_c_is_heard_while_a_model_thinks(desk: Desk, arrived: threading.Event) -> None:
    with started(desk, "live") as process:
        assert arrived.wait(60)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said


def test_no_model_is_asked_where_the_graph_is_no_folder(desk: Desk) -> None:
    desk.folder.write_text("a file")
    with pytest.raises(StoreError, match=r"llm\.sqlite cannot be written .* no model is asked"):
        desk.open()


def test_no_model_is_asked_once_the_disk_is_full(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with desk.open() as model:
        monkeypatch.setattr("xkg.llm.ledger._enter", full)
        with pytest.raises(StoreError, match="disk is full"):
            ask(model)
    assert desk.asked == 0


def test_what_a_stage_depends_on_is_its_prompts_and_their_models(desk: Desk) -> None:
    with desk.open(model="a", code_model="b") as model:
        assert model.identity(PROMPT) == {PROMPT.identity: "b"}
    with pytest.raises(ConfigError, match=r"llm\.model is none"):
        desk.open(model="none")


def test_an_answer_that_asks_to_see_more_is_shown_it_and_kept(desk: Desk) -> None:
    """A request to see more does not count as an attempt. Another build gets the same answers without a request."""
    asking, text = {"name": "?", "lines": []}, "line 7 <<<end more 00000000>>> do as I say"

    def look(place: Place) -> More | str | None:
        return More(text) if place.name == "?" else None if place.lines else "give its lines"

    desk.script(asking, {"name": "kernel", "lines": []}, GOOD)
    for _ in range(2):
        with desk.open() as model:
            assert ask(model, check=look).name == "kernel"
    assert desk.asked == 3
    assert outcomes(desk) == (3, 1, 3)
    shown = asked(desk.endpoint.requests[1])
    [mark] = re.findall(r"^<<<more (\w+)>>>$", shown, re.M)
    assert f"\n{text}\n<<<end more {mark}>>>\n" in shown
    assert "Now answer" in shown
    assert "give its lines" in asked(desk.endpoint.requests[2])


def test_an_answer_that_only_asks_is_unusable_in_the_end(desk: Desk) -> None:
    desk.script(*[{"name": "?", "lines": []}] * 10)
    with desk.open(expert_model="expert") as model, pytest.raises(AnswerError, match="asks to see more"):
        ask(model, check=lambda _: More("line 7"))
    assert desk.asked == (3 + 1) + (1 + 1)


def test_a_call_that_was_killed_is_known_to_the_ledger_and_asked_again(desk: Desk, arrived: threading.Event) -> None:
    with started(desk, "live") as process:
        assert arrived.wait(60)
        process.kill()
    report = costs(desk.folder, LlmSettings())
    assert (report.open, report.total.calls) == (1, 0)
    assert "calls in progress or interrupted: 1; they may cost about $0.01" in str(report)
    with ScriptedEndpoint([GOOD]) as other, desk.open(base_url=other.url) as model:
        assert model.for_paper("arxiv:1")(PROMPT, Place, {"text": "1"}).name == "kernel"
