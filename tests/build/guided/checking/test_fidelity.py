import pytest

from tests.build.codebases import codebase_of
from tests.build.guided.checking.judged import (
    EMPTY,
    FAITHFUL,
    FOREIGN,
    GOOD,
    LINES,
    NO_EDITS,
    OTHER,
    TWO_STATEMENTS,
    checked,
    checked_all,
    compared,
    cubed,
    fault,
    model_of,
    ready,
    requested_prompts,
    shared,
)
from tests.build.guided.fake_model import FakeModel
from xkg.build.guided.checking.fidelity import review
from xkg.build.guided.lookup import Lookup
from xkg.model import Level


def test_a_fault_without_a_remark_is_sent_back() -> None:
    ask = model_of({"fidelity": [fault("missing", " "), FAITHFUL]})
    assert [fidelity.faults for fidelity in review([GOOD], ask, Lookup(EMPTY), shared(GOOD))] == [()]
    assert "has no remark" in (ask.requests[0][3] or "")


def test_one_question_reviews_all_modules_and_each_gets_its_own_verdict() -> None:
    other = OTHER.model_copy(update={"implementation": cubed().implementation, "test": cubed().test})
    ask = FakeModel({"fidelity": [{"verdicts": [{**FOREIGN, "technique": 2}, FAITHFUL]}], "revise": [NO_EDITS]})
    first, second = checked_all([ready(GOOD), ready(other)], ask)
    assert (first.level, second.level) == (Level.FAITHFUL, Level.TESTED)
    assert "cubes the weights" in (second.evidence[-1].reason or "")
    assert [(name, about) for name, about, *_ in ask.requests] == [
        ("fidelity", "Effective sample size, Other"),
        ("revise", "Other"),
    ]
    shown = ask.requests[0][2]
    assert "## 2. Other" in shown["modules"]


def test_a_review_that_misses_a_module_is_sent_back() -> None:
    both = {"verdicts": [FAITHFUL, {**FAITHFUL, "technique": 2}]}
    ask = FakeModel({"fidelity": [{"verdicts": [FAITHFUL]}, both]})
    assert len(review([GOOD, OTHER], ask, Lookup(EMPTY), shared(GOOD, OTHER))) == 2
    assert "one verdict for each module: [1, 2]" in str(ask.requests[0][3])


def test_where_paper_and_repository_part_is_stored_and_is_no_fault() -> None:
    draft = GOOD.model_copy(update={"definition": TWO_STATEMENTS, "declared": ("[2] no factor",)})
    ask = model_of({"fidelity": [compared("differs", "the lines have\nno factor of two")]})
    done = checked(draft, ask)
    assert done.level is Level.FAITHFUL
    fidelity = done.evidence[-1].fidelity
    assert fidelity is not None
    assert fidelity.statements == 2
    [departure] = fidelity.departures
    assert (departure.kind, departure.remark) == ("differs", "the lines have no factor of two")
    assert departure.statement == "One over the sum of their squares is given, times two."
    shown = ask.requests[0][2]["modules"]
    assert "Author:\n[2] no factor" in shown


def test_a_review_may_look_elsewhere_first_and_what_it_opened_counts_as_source_lines() -> None:
    draft = GOOD.model_copy(update={"definition": TWO_STATEMENTS})
    asking = {"verdicts": [], "open": ["twice.py::twice"], "search": ["2 *"]}
    there = {"statement": 2, "verdict": "elsewhere", "remark": "twice.py:1-2 doubles it"}
    ask = model_of({"fidelity": [asking, {**FAITHFUL, "statements": [there]}]})
    codebase = codebase_of({"twice.py": "def twice(w):\n    return 2 * ess(w)\n"})
    [done] = checked_all([ready(draft)], ask, codebase)
    assert requested_prompts(ask) == ["fidelity", "fidelity"]
    assert done.draft.excerpt.startswith(LINES)
    assert "# --- twice.py:1-2\ndef twice(w):" in done.draft.excerpt
    [departure] = (done.evidence[-1].fidelity or pytest.fail("none")).departures
    assert (departure.kind, departure.searched) == ("elsewhere", True)


@pytest.mark.parametrize(("verdict", "kind"), [("narrower", "missing"), ("wrong", "foreign")])
def test_a_statement_that_the_module_does_not_do_whole_is_a_fault(verdict: str, kind: str) -> None:
    draft = GOOD.model_copy(update={"definition": TWO_STATEMENTS})
    answer = {**FAITHFUL, "statements": [{"statement": 2, "verdict": verdict, "remark": "only of two weights"}]}
    ask = model_of({"fidelity": [answer], "revise": [NO_EDITS]})
    done = checked(draft, ask)
    assert done.level is Level.TESTED
    [found] = (done.evidence[-1].fidelity or pytest.fail("none")).faults or ()
    assert (found.kind, found.remark) == (kind, "statement 2: only of two weights")
    assert "only of two weights" in ask.requests[-1][2]["findings"]
