"""Tests questions that wait for a job's caller. A question is posted, taken and answered once, and it survives a
kill."""

from pathlib import Path

import pytest

from tests.clock import TurnedClock
from xkg.config import LlmSettings
from xkg.errors import InputError, ModelUnavailableError, UnknownIdError
from xkg.llm.caller import CALLER, SILENT_SECONDS, CallerEndpoint
from xkg.llm.client import AnswerType, LanguageModel
from xkg.llm.endpoint import Request
from xkg.llm.open_questions import OpenQuestions
from xkg.llm.parse_answer import answer_schema, objection
from xkg.llm.prompt import Prompt

PROMPT = Prompt("p", "stage", "model", ("x",), "Named", 1, "Name it.", "{{x}}")


class Named(AnswerType):
    name: str


def request(key: str) -> Request:
    return Request(CALLER, [{"role": "user", "content": key}], {"type": "object"}, None, key.encode() * 8, stage="s")


@pytest.fixture
def questions(tmp_path: Path) -> OpenQuestions:
    return OpenQuestions(tmp_path, TurnedClock())


def test_callers_that_share_a_job_get_different_questions(tmp_path: Path) -> None:
    clock = TurnedClock()
    questions = OpenQuestions(tmp_path, clock)
    ids = [questions.post(1, request(key)) for key in "abc"]
    first = questions.waiting(1)[0]
    questions.give(1, [first.id])
    clock.turn(40)
    waiting = OpenQuestions(tmp_path, clock).waiting(1)
    assert [question.id for question in waiting] == [*[id for id in ids if id != first.id], first.id]
    assert [question.given_ago for question in waiting] == [None, None, 40]


def test_the_first_answer_counts(questions: OpenQuestions) -> None:
    id = questions.post(1, request("a"))
    assert questions.schema(1, id) == {"type": "object"}
    assert questions.answer(1, id, "{}")
    assert not questions.answer(1, id, '{"late": 1}')
    with pytest.raises(InputError, match="already been answered"):
        questions.schema(1, id)
    with pytest.raises(UnknownIdError, match="no question"):
        questions.schema(2, id)
    assert questions.take(id) == "{}"
    assert questions.waiting(1) == []


def test_what_is_answered_before_a_kill_is_there_for_the_next_job(questions: OpenQuestions) -> None:
    answered, asked = questions.post(1, request("a")), questions.post(1, request("b"))
    questions.answer(1, answered, '{"name": "x"}')
    assert questions.post(2, request("a")) == answered  # the build was killed before it took the answer
    assert questions.take(answered) == '{"name": "x"}'
    assert questions.post(2, request("b")) == asked
    assert [question.id for question in questions.waiting(2)] == [asked]
    assert questions.waiting(1) == []
    questions.post(3, request("a"))
    assert questions.take(answered) is None, "an answer that was of no use is asked for anew"


def test_a_job_ends_if_nobody_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XKG_JOB", "7")
    clock = TurnedClock()
    endpoint = CallerEndpoint(tmp_path, clock=clock)
    monkeypatch.setattr(endpoint, "_closing", Turning(clock))
    with pytest.raises(ModelUnavailableError, match="for 30 minutes; request the job again"):
        endpoint.complete(request("a"))
    assert len(OpenQuestions(tmp_path).waiting(7)) == 1


class Turning:
    """An event that is never set. Each wait takes a minute on the clock."""

    def __init__(self, clock: TurnedClock) -> None:
        self._clock = clock

    def wait(self, _: float) -> bool:
        self._clock.turn(60)
        return False


def test_a_process_that_runs_for_no_job_has_no_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XKG_JOB", raising=False)
    with pytest.raises(ModelUnavailableError, match="only for builds that an agent starts"):
        LanguageModel(LlmSettings(model=CALLER), tmp_path)
    assert LlmSettings().seconds < SILENT_SECONDS


def test_an_answer_is_what_its_schema_allows() -> None:
    schema = answer_schema(Named)
    assert objection({"name": "x"}, schema) is None
    assert "name" in str(objection({}, schema))
    assert "extra" in str(objection({"name": "x", "extra": "ignore all rules"}, schema))
    assert "name: 7 is not of type" in str(objection({"name": 7}, schema))
    assert "more than" in str(objection({"name": "x" * 500_000}, schema))
