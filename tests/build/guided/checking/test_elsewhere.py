"""What is said to be missing in a repository is looked for in the rest of it, with one question."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.build.guided.checking.test_judge import (
    DEFINITION,
    GOOD,
    LINES,
    PARTED,
    TWO_STATEMENTS,
    ready,
    requested_prompts,
)
from tests.build.guided.fake_model import FakeModel
from tests.build.guided.quick_runner import quickly
from xkg.build.grounding.statement_search import FoundLines
from xkg.build.guided.checking.judge import Checked, check
from xkg.errors import AnswerError, EmbeddingError
from xkg.model import Level

DRAFT = GOOD.model_copy(update={"definition": TWO_STATEMENTS})
TWICE = FoundLines(
    symbol="r:twice.py::twice", path="twice.py", first=3, last=4, text="def twice(w):\n    return 2 * ess(w)"
)


def found(verdict: str, *, belongs: bool = False, lines: Sequence[int] = (1,)) -> dict[str, Any]:
    remark = "" if verdict == "not" else "twice doubles the size"
    lines = () if verdict == "not" else lines
    answer = {"statement": 1, "verdict": verdict, "lines": list(lines), "belongs": belongs, "remark": remark}
    return {"statements": [answer]}


def searched(ask: FakeModel, lines: Sequence[FoundLines] = (TWICE,)) -> Checked:
    return check(ready(DRAFT), DEFINITION, quickly, ask, search=lambda *_: lines)


def parted(kind: str) -> dict[str, Any]:
    statements = [PARTED["statements"][0], {"statement": 2, "verdict": kind, "remark": "no factor"}]
    return {**PARTED, "statements": statements}


def test_what_stays_a_departure_is_said_of_what_was_searched() -> None:
    ask = FakeModel({"fidelity": [PARTED], "elsewhere": [found("not")]})
    done = searched(ask)
    assert requested_prompts(ask) == ["fidelity", "elsewhere"]
    inputs = ask.requests[1][2]
    assert "[1] One over the sum of their squares" in inputs["departures"]
    assert "[1] twice.py:3-4\ndef twice(w):" in inputs["lines"]
    fidelity = done.evidence[-1].fidelity
    assert fidelity is not None
    [departure] = fidelity.departures
    assert (done.level, departure.kind, departure.searched) == (Level.FAITHFUL, "differs", True)
    assert departure.kind_in_words.startswith("what was found in the repository does it in another way")


def test_without_a_search_a_departure_speaks_of_the_lines_alone() -> None:
    done = check(ready(DRAFT), DEFINITION, quickly, FakeModel({"fidelity": [PARTED]}))
    [departure] = (done.evidence[-1].fidelity or pytest.fail("none")).departures
    assert departure.kind_in_words == "the lines that were compared do it in another way, and so does this code"


def test_what_the_repository_does_elsewhere_and_others_need_is_named_with_its_place() -> None:
    done = searched(FakeModel({"fidelity": [PARTED], "elsewhere": [found("does")]}))
    [departure] = (done.evidence[-1].fidelity or pytest.fail("none")).departures
    assert (done.level, departure.kind) == (Level.FAITHFUL, "elsewhere")
    assert departure.remark == "twice doubles the size (twice.py:3-4)"
    assert done.draft.excerpt == LINES


def test_what_the_module_should_have_is_mended_from_the_lines_found() -> None:
    doubled = {
        "cause": "the factor",
        "edits": [
            {"file": "implementation", "search": "return 1.0 / sum", "replace": "return 2.0 / sum"},
            {"file": "test", "search": "== 2.0", "replace": "== 4.0"},
            {"file": "test", "search": "1.6", "replace": "3.2"},
        ],
    }
    agreed = {**PARTED, "statements": [{"statement": n, "verdict": "same", "remark": ""} for n in (1, 2)]}
    answers = {"fidelity": [PARTED, agreed], "elsewhere": [found("does", belongs=True)], "revise": [doubled]}
    ask = FakeModel(answers)
    done = searched(ask)
    assert requested_prompts(ask) == ["fidelity", "elsewhere", "revise", "fidelity"]
    revise, again = ask.requests[2][2], ask.requests[3][2]
    assert "missing: what other lines of the repository do: twice doubles the size (twice.py:3-4)" in revise["findings"]
    assert all("# --- twice.py:3-4\ndef twice(w):" in each["sources"] for each in (revise, again))
    assert done.level is Level.FAITHFUL
    assert done.draft.second_places == ("r:twice.py::twice",)
    assert (done.evidence[-1].fidelity or pytest.fail("none")).departures == ()


def test_what_the_module_should_have_and_does_not_get_is_no_faithful_code() -> None:
    nothing = {"cause": "cannot", "edits": []}
    answers = {"fidelity": [PARTED], "elsewhere": [found("does", belongs=True)], "revise": [nothing]}
    done = searched(FakeModel(answers))
    assert done.level is Level.TESTED
    assert "twice doubles the size (twice.py:3-4)" in (done.evidence[-1].reason or "")
    [departure] = (done.evidence[-1].fidelity or pytest.fail("none")).departures
    assert departure.kind == "elsewhere"


def test_what_only_the_code_seemed_to_do_is_no_departure_where_the_repository_does_it() -> None:
    done = searched(FakeModel({"fidelity": [parted("added")], "elsewhere": [found("does")]}))
    assert (done.evidence[-1].fidelity or pytest.fail("none")).departures == ()
    assert "# --- twice.py:3-4\n" in done.draft.excerpt
    assert done.level is Level.FAITHFUL


def test_where_nothing_is_found_nothing_is_asked() -> None:
    ask = FakeModel({"fidelity": [PARTED]})
    done = searched(ask, ())
    assert requested_prompts(ask) == ["fidelity"]
    assert (done.evidence[-1].fidelity or pytest.fail("none")).departures[0].searched


def test_no_usable_answer_leaves_the_words_about_the_lines_compared() -> None:
    done = searched(FakeModel({"fidelity": [PARTED], "elsewhere": [AnswerError("none")]}))
    [departure] = (done.evidence[-1].fidelity or pytest.fail("none")).departures
    assert (done.level, departure.searched) == (Level.FAITHFUL, False)


def test_a_search_that_fails_costs_no_build() -> None:
    def broken(*_: object) -> Sequence[FoundLines]:
        raise EmbeddingError("down")

    done = check(ready(DRAFT), DEFINITION, quickly, FakeModel({"fidelity": [PARTED]}), search=broken)
    assert (done.level, done.failed) == (Level.FAITHFUL, None)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"statements": []}, "answer for each from 1 to 1 once"),
        (found("does", lines=(2,)), "there are no lines 2"),
        (found("does", lines=()), "without lines"),
    ],
)
def test_an_answer_that_points_at_nothing_is_sent_back(answer: dict[str, Any], complaint: str) -> None:
    ask = FakeModel({"fidelity": [PARTED], "elsewhere": [answer, found("not")]})
    searched(ask)
    assert complaint in (ask.requests[1][3] or "")
