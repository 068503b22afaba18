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
from xkg.build.grounding.repository_lines import FoundLines, Shown
from xkg.build.guided.checking.judge import Checked, check
from xkg.errors import AnswerError, EmbeddingError
from xkg.model import Level, LineRange

DRAFT = GOOD.model_copy(update={"definition": TWO_STATEMENTS})
TWICE = FoundLines(
    symbol="r:twice.py::twice", path="twice.py", first=3, last=4, text="def twice(w):\n    return 2 * ess(w)"
)


FAITHFUL_IN_BOTH: dict[str, Any] = {
    "compared": "",
    "statements": [{"statement": n, "verdict": "same", "remark": ""} for n in (1, 2)],
    "faults": [],
}


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
    done = searched(FakeModel({"fidelity": [parted("absent")], "elsewhere": [found("does")]}))
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
    told = "The square is an addition.\n"
    draft = DRAFT.model_copy(
        update={
            "documentation": f"{DRAFT.documentation}\n{told}",
            "declared": ("[1] comes in as an argument: w", "[2] not in the lines, written from the definition: ess"),
            "by_definition": {"ess": (2,)},
        }
    )
    edit = {"file": "documentation", "search": told, "replace": "The square is as in the repository.\n"}
    answers = {
        "fidelity": [parted("added")],
        "elsewhere": [found("does")],
        "revise": [{"cause": "it is there", "edits": [edit]}],
    }
    ask = FakeModel(answers)
    done = check(ready(draft), DEFINITION, quickly, ask, search=lambda *_: (TWICE,))
    assert requested_prompts(ask) == ["fidelity", "elsewhere", "revise"]
    assert "is no addition to the repository, which does it: twice doubles the size" in ask.requests[2][2]["findings"]
    assert (done.evidence[-1].fidelity or pytest.fail("none")).departures == ()
    assert "# --- twice.py:3-4\n" in done.draft.excerpt
    assert "The square is as in the repository." in done.draft.documentation
    assert done.draft.declared == ("[1] comes in as an argument: w",)
    assert done.draft.by_definition == {}
    assert done.level is Level.FAITHFUL


def test_a_revision_by_what_the_repository_does_is_used_though_it_is_no_nearer_to_the_lines() -> None:
    whole = "    return 1.0 / sum(w**2 for w in normalised(values))\n"
    mended = "    n = normalised(values)\n    return 1.0 / sum(w**2 for w in n)\n"
    answers = {
        "fidelity": [parted("added"), FAITHFUL_IN_BOTH],
        "elsewhere": [found("does")],
        "revise": [{"cause": "it is there", "edits": [{"file": "implementation", "search": whole, "replace": mended}]}],
    }
    done = searched(FakeModel(answers))
    assert mended in done.draft.implementation
    assert done.level is Level.FAITHFUL


def test_another_departure_of_a_statement_that_was_mended_is_none_of_the_lines_found() -> None:
    """The revised module was compared with the lines found, too."""
    whole = "    return 1.0 / sum(w**2 for w in normalised(values))\n"
    mended = "    n = normalised(values)\n    return 1.0 / sum(w**2 for w in n)\n"
    other = {"statement": 2, "verdict": "differs", "remark": "squared before the sum"}
    answers = {
        "fidelity": [PARTED, {**FAITHFUL_IN_BOTH, "statements": [*FAITHFUL_IN_BOTH["statements"], other]}],
        "elsewhere": [found("does", belongs=True)],
        "revise": [{"cause": "it is there", "edits": [{"file": "implementation", "search": whole, "replace": mended}]}],
    }
    done = searched(FakeModel(answers))
    [departure] = (done.evidence[-1].fidelity or pytest.fail("none")).departures
    assert (departure.kind, departure.remark) == ("differs", "squared before the sum")
    assert done.level is Level.FAITHFUL


def test_what_other_lines_do_as_the_definition_says_is_mended_whoever_is_said_to_need_it() -> None:
    """The lines compared did it in another way: so the code has it, and in the wrong way."""
    nothing = {"cause": "cannot", "edits": []}
    ask = FakeModel({"fidelity": [PARTED], "elsewhere": [found("does")], "revise": [nothing]})
    done = searched(ask)
    assert requested_prompts(ask) == ["fidelity", "elsewhere", "revise"]
    assert "# --- twice.py:3-4\ndef twice(w):" in ask.requests[2][2]["sources"]
    assert done.level is Level.TESTED


def test_of_what_other_lines_do_in_another_way_it_is_not_said_that_the_repository_does_not_do_it() -> None:
    ask = FakeModel({"fidelity": [parted("absent")], "elsewhere": [found("otherwise")]})
    [departure] = (searched(ask).evidence[-1].fidelity or pytest.fail("none")).departures
    assert departure.kind == "elsewhere"
    assert departure.remark == "in another way: twice doubles the size (twice.py:3-4)"


def test_code_that_adds_what_the_repository_does_in_another_way_is_mended_by_its_lines() -> None:
    nothing = {"cause": "cannot", "edits": []}
    answers = {"fidelity": [parted("added")], "elsewhere": [found("otherwise", belongs=True)], "revise": [nothing]}
    ask = FakeModel(answers)
    searched(ask)
    assert "missing: what other lines of the repository do in another way: twice" in ask.requests[2][2]["findings"]


def test_lines_left_out_of_the_compared_ones_are_looked_for_and_marked() -> None:
    gaps = {"ess.py": (LineRange(start_line=4, end_line=5),)}
    draft = DRAFT.model_copy(update={"partly": ("r:ess.py::ess",), "gaps": gaps})
    requests: list[Shown] = []

    def search(_: str, __: Sequence[str], shown: Shown, ___: Sequence[str]) -> Sequence[FoundLines]:
        requests.append(shown)
        return (TWICE.model_copy(update={"left_out": True}), TWICE)

    ask = FakeModel({"fidelity": [PARTED], "elsewhere": [found("not")]})
    check(ready(draft), DEFINITION, quickly, ask, search=search)
    assert (requests[0].symbols, requests[0].gaps) == (draft.partly, gaps)
    assert draft.excerpt in requests[0].text
    lines = ask.requests[1][2]["lines"]
    assert "[1] twice.py:3-4, left out of the lines compared so far\n" in lines
    assert "[2] twice.py:3-4\n" in lines


def test_what_a_revision_departs_in_is_looked_for_too() -> None:
    edits = [{"file": "documentation", "search": "", "replace": f"{DRAFT.documentation} It is a size."}]
    edits += [{"file": "test", "search": "== 2.0", "replace": "== 1.0 * 2.0"}]
    first = {**parted("differs"), "faults": [{"kind": "missing", "remark": "the factor"}]}
    second = {
        **PARTED,
        "statements": [{"statement": 1, "verdict": "absent", "remark": "none"}, *parted("differs")["statements"][1:]],
    }
    ask = FakeModel(
        {
            "fidelity": [first, second],
            "elsewhere": [found("not"), found("not")],
            "revise": [{"cause": "it", "edits": edits}],
        }
    )
    done = searched(ask)
    assert requested_prompts(ask) == ["fidelity", "elsewhere", "revise", "fidelity", "elsewhere"]
    assert "[2]" not in ask.requests[4][2]["departures"]
    departures = (done.evidence[-1].fidelity or pytest.fail("none")).departures
    assert [each.searched for each in departures] == [True, True]


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
