"""What a module lacks is looked for in the rest of the repository, within the one review."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.build.guided.checking.test_judge import DEFINITION, GOOD, LINES, TWO_STATEMENTS, ready, requested_prompts
from tests.build.guided.fake_model import FakeModel
from tests.build.guided.quick_runner import quickly
from xkg.build.grounding.repository_lines import FoundLines, Shown
from xkg.build.guided.checking.judge import Checked, check
from xkg.errors import EmbeddingError
from xkg.model import Departure, Fault, Fidelity, Level, LineRange

DRAFT = GOOD.model_copy(
    update={"definition": TWO_STATEMENTS, "declared": ("[2] left out: the factor",), "lacking": (2,)}
)
TWICE = FoundLines(
    symbol="r:twice.py::twice", path="twice.py", first=3, last=4, text="def twice(w):\n    return 2 * ess(w)"
)
NOTHING: dict[str, Any] = {"cause": "cannot", "edits": []}
DOUBLED = {
    "cause": "the factor",
    "edits": [
        {"file": "implementation", "search": "return 1.0 / sum", "replace": "return 2.0 / sum"},
        {"file": "test", "search": "== 2.0", "replace": "== 4.0"},
        {"file": "test", "search": "1.6", "replace": "3.2"},
    ],
}


def verdict(kind: str, *lines: int, faults: Sequence[str] = ()) -> dict[str, Any]:
    """A review in which the second statement has this verdict, with these other lines."""
    remark = "" if kind == "same" else "twice doubles the size"
    return {
        "compared": "The factor.",
        "statements": [
            {"statement": 1, "verdict": "same", "remark": ""},
            {"statement": 2, "verdict": kind, "remark": remark, "lines": list(lines)},
        ],
        "faults": [{"kind": "missing", "remark": each} for each in faults],
    }


def searched(ask: FakeModel, lines: Sequence[FoundLines] = (TWICE,)) -> Checked:
    return check(ready(DRAFT), DEFINITION, quickly, ask, search=lambda *_: lines)


def fidelity_of(done: Checked) -> Fidelity:
    return done.evidence[-1].fidelity or pytest.fail("none")


def test_what_stays_a_departure_is_said_of_what_was_searched() -> None:
    ask = FakeModel({"fidelity": [verdict("absent")]})
    done = searched(ask)
    assert "[1] twice.py:3-4\ndef twice(w):" in ask.requests[0][2]["others"]
    [departure] = fidelity_of(done).departures
    assert (done.level, departure.kind, departure.searched) == (Level.FAITHFUL, "absent", True)
    assert done.draft.excerpt == LINES


def test_without_a_search_a_departure_speaks_of_the_lines_alone() -> None:
    done = check(ready(DRAFT), DEFINITION, quickly, FakeModel({"fidelity": [verdict("differs")]}))
    [departure] = fidelity_of(done).departures
    assert departure.kind_in_words == "the lines that were compared do it in another way, and so does this code"


def test_what_the_author_found_in_the_lines_is_not_searched_for() -> None:
    def search(*_: object) -> Sequence[FoundLines]:
        pytest.fail("it was searched")

    ask = FakeModel({"fidelity": [verdict("differs")]})
    check(ready(DRAFT.model_copy(update={"lacking": ()})), DEFINITION, quickly, ask, search=search)
    assert ask.requests[0][2]["others"] == ""


def test_what_the_repository_does_elsewhere_and_others_need_is_named_with_its_place() -> None:
    done = searched(FakeModel({"fidelity": [verdict("elsewhere", 1)]}))
    [departure] = fidelity_of(done).departures
    assert (done.level, departure.kind) == (Level.FAITHFUL, "elsewhere")
    assert departure.remark == "twice doubles the size (twice.py:3-4)"
    assert done.draft.second_places == {departure.statement: ("r:twice.py::twice",)}


def test_what_the_module_should_have_is_mended_from_the_lines_found() -> None:
    review = verdict("elsewhere", 1, faults=["the factor two of twice"])
    agreed = {"compared": "", "statements": [{"statement": 2, "verdict": "same", "remark": ""}], "faults": []}
    ask = FakeModel({"fidelity": [review], "revise": [DOUBLED], "recheck": [agreed]})
    done = searched(ask)
    assert requested_prompts(ask) == ["fidelity", "revise", "recheck"]
    assert "# --- twice.py:3-4\ndef twice(w):" in ask.requests[1][2]["sources"]
    assert done.level is Level.FAITHFUL
    assert fidelity_of(done).departures == ()


def test_what_the_module_should_have_and_does_not_get_is_no_faithful_code() -> None:
    review = verdict("elsewhere", 1, faults=["the factor two of twice"])
    done = searched(FakeModel({"fidelity": [review], "revise": [NOTHING]}))
    assert (done.level, fidelity_of(done).faults) == (
        Level.TESTED,
        (Fault(kind="missing", remark="the factor two of twice"),),
    )


def test_what_only_the_code_seemed_to_do_is_no_departure_where_the_repository_does_it() -> None:
    declared = ("[1] comes in as an argument: w", "[2] not in the lines, written from the definition: ess")
    draft = DRAFT.model_copy(update={"declared": declared, "by_definition": {"ess": (2,)}})
    ask = FakeModel({"fidelity": [verdict("same", 1)]})
    done = check(ready(draft), DEFINITION, quickly, ask, search=lambda *_: (TWICE,))
    assert (done.level, fidelity_of(done).departures) == (Level.FAITHFUL, ())
    assert done.draft.declared == declared[:1]
    assert done.draft.by_definition == {}
    assert done.draft.found_elsewhere == "Statement 2 is done in twice.py:3-4."


def test_lines_left_out_of_the_compared_ones_are_looked_for() -> None:
    shown: list[Shown] = []

    def search(_: str, statements: Sequence[str], seen: Shown, __: Sequence[str]) -> Sequence[FoundLines]:
        assert statements == ["One over the sum of their squares is given, times two."]
        shown.append(seen)
        return ()

    gaps = {"particles/resample.py": (LineRange(start_line=4, end_line=5),)}
    draft = DRAFT.model_copy(update={"partly": ("r:m.py::f",), "gaps": gaps})
    check(ready(draft), DEFINITION, quickly, FakeModel({"fidelity": [verdict("absent")]}), search=search)
    assert (shown[0].symbols, shown[0].gaps) == (("r:m.py::f",), gaps)
    assert "return 1.0 / sum(x ** 2 for x in n)" in shown[0].text


def test_a_search_that_fails_costs_no_build() -> None:
    def failing(*_: object) -> Sequence[FoundLines]:
        raise EmbeddingError("no weights")

    done = check(ready(DRAFT), DEFINITION, quickly, FakeModel({"fidelity": [verdict("absent")]}), search=failing)
    [departure] = fidelity_of(done).departures
    assert (done.level, departure.searched) == (Level.FAITHFUL, False)


def test_numbers_of_lines_that_are_not_there_are_none() -> None:
    done = searched(FakeModel({"fidelity": [verdict("elsewhere", 7)]}))
    assert fidelity_of(done).departures == (
        Departure(
            kind="absent",
            statement="One over the sum of their squares is given, times two.",
            remark="twice doubles the size",
            searched=True,
        ),
    )
