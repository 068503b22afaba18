"""Tests the checks on a draft that runs, namely stronger tests, fidelity and one revision. Also counts the questions
that the checks ask."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.build.codebases import codebase_of
from tests.build.guided.checking.test_debug import edit
from tests.build.guided.drafts import draft_of
from tests.build.guided.fake_model import FakeModel
from tests.build.guided.quick_runner import quickly
from xkg.build.code.codebase import Codebase
from xkg.build.guided.checking.debug import ROUNDS, Debugged, debug
from xkg.build.guided.checking.edits import Edit, applied
from xkg.build.guided.checking.fidelity import review
from xkg.build.guided.checking.judge import Checked, check, proved
from xkg.build.guided.checking.strengthen import only_defaults, strengthen, unnoticed
from xkg.build.guided.code_answers import Shared
from xkg.build.guided.definition_statements import numbered
from xkg.build.guided.draft import Draft, UsedComponent
from xkg.build.guided.lookup import Lookup
from xkg.build.similarity.fidelity import share
from xkg.errors import AnswerError
from xkg.model import Evidence, Level, Repository

MODULE = '''\
def normalised(values):
    """Values that sum to one."""
    total = sum(values)
    return [v / total for v in values]


def effective_size(values):
    """One over the sum of squares."""
    return 1.0 / sum(w**2 for w in normalised(values))
'''
LINES = """\
# --- particles/resample.py:3-9 @ 1234567
def normalise(log, w):
    s = sum(w)
    return [x / s for x in w]

def ess(w):
    n = normalise(w)
    return 1.0 / sum(x ** 2 for x in n)
"""
OTHER_LINES = """\
def entropy(p):
    q = np.clip(p, 1e-12, None)
    return -(q * np.log(q)).sum(axis=-1)
"""
SHARP = """\
assert normalised([1.0, 3.0]) == [0.25, 0.75]
assert effective_size([1.0, 1.0]) == 2.0
assert abs(effective_size([1.0, 3.0]) - 1.6) < 1e-9
"""
BLUNT = """\
assert len(normalised([1.0, 3.0])) == 2
assert isinstance(effective_size([1.0, 1.0]), float)
"""
GOOD = draft_of(MODULE, SHARP, name="Effective sample size", excerpt=LINES)
OTHER = GOOD.model_copy(update={"technique": "p#other", "name": "Other"})
EMPTY = Codebase(repository=Repository(id="local:empty@0", url=""))
FAITHFUL: Mapping[str, Any] = {"technique": 1, "compared": "The sum and the squares.", "statements": [], "faults": []}


def model_of(script: Mapping[str, Any]) -> FakeModel:
    """Returns a model that reviews one module at a time."""
    return FakeModel({**script, "fidelity": [_review(answer) for answer in script.get("fidelity", ())]})


def _review(answer: Any) -> Any:
    return answer if isinstance(answer, Exception) or "open" in answer else {"verdicts": [answer]}


def fault(kind: str, remark: str) -> dict[str, Any]:
    return {"technique": 1, "compared": "", "statements": [], "faults": [{"kind": kind, "remark": remark}]}


FOREIGN = fault("foreign", "effective_size cubes the weights; the lines square them")


NO_EDITS: Mapping[str, Any] = {"cause": "nothing", "edits": []}


def ready(draft: Draft) -> Debugged:
    return debug(draft, quickly, model_of({}))


def shared(*drafts: Draft) -> Shared:
    """Returns the beginning of the question that requested these drafts."""
    techniques = [(draft.technique, f"{draft.name}\n{numbered(draft.definition)}") for draft in drafts]
    return Shared.of("\n".join(draft.excerpt for draft in drafts), [], "", techniques)


def checked_all(states: Sequence[Debugged], ask: FakeModel, codebase: Codebase = EMPTY) -> list[Checked]:
    return check(states, quickly, ask, codebase, shared(*(state.draft for state in states)))


def checked(draft: Draft, ask: FakeModel) -> Checked:
    return checked_all([proved(draft, quickly, ask)], ask)[0]


def requested_prompts(ask: FakeModel) -> list[str]:
    return [name for name, *_ in ask.requests]


def cubed(draft: Draft = GOOD) -> Draft:
    """Returns a draft that runs and passes its test, but cubes instead of squaring."""
    return draft.model_copy(
        update={
            "implementation": draft.implementation.replace("w**2", "w**3"),
            "test": draft.test.replace("== 2.0", "== 4.0").replace("1.6", "1.0 / 0.4375"),
        }
    )


def test_a_blunt_test_goes_back_once_with_what_it_missed() -> None:
    ask = model_of({"strengthen": [edit("", BLUNT + SHARP, "test")], "fidelity": [FAITHFUL]})
    done = checked(GOOD.model_copy(update={"test": BLUNT}), ask)
    assert (done.level, requested_prompts(ask)) == (Level.FAITHFUL, ["strengthen", "fidelity"])
    assert done.draft.implementation == MODULE
    assert [e.level for e in done.evidence] == [Level.EXECUTED, Level.FAITHFUL]
    assert done.evidence[-1].repairs == 1
    missed = ask.requests[0][2]["unnoticed"]
    assert "line 4, `return [v / total for v in values]`" in missed
    assert "the test still passed" in missed


def test_a_test_too_slow_for_mutation_gets_a_hint() -> None:
    slow = Evidence(level=Level.EXECUTED, seconds=27.3, reason="whether the test can fail was not settled within 600 s")
    assert "make it much faster" in unnoticed(MODULE, slow)
    assert "quicker" not in unnoticed(MODULE, slow.model_copy(update={"seconds": 0.2}))


def test_sharpening_may_not_touch_the_code_nor_drop_an_assertion() -> None:
    wrong = [edit("w**2", "w**3"), edit("", SHARP.splitlines()[0], "test")]
    ask = model_of({"strengthen": [*wrong, edit("", BLUNT + SHARP, "test")], "fidelity": [FAITHFUL]})
    done = checked(GOOD.model_copy(update={"test": BLUNT}), ask)
    assert done.level is Level.FAITHFUL
    complaints = [complaint or "" for name, *_, complaint in ask.requests if name == "strengthen"]
    assert "only the test may change" in complaints[0]
    assert "keep each one" in complaints[1]
    assert done.refused == 1


def test_a_sharper_test_that_is_wrong_is_debugged_with_what_is_left() -> None:
    wrong = BLUNT + SHARP.replace("1.6", "1.7")
    ask = model_of({"strengthen": [edit("", wrong, "test")], "repair": [edit("1.7", "1.6", "test")]})
    start = GOOD.model_copy(update={"test": BLUNT})
    after = strengthen(ready(start), quickly, ask, rounds=1)
    assert after.proof.evidence.level is Level.TESTED
    assert (after.repairs, after.rounds, requested_prompts(ask)) == (2, 1, ["strengthen", "repair"])
    none_left = model_of({"strengthen": [edit("", wrong, "test")]})
    assert strengthen(ready(start), quickly, none_left, rounds=0).draft == start


def test_a_stronger_test_that_proves_no_more_is_dropped() -> None:
    ask = model_of({"strengthen": [edit("", f"{BLUNT}assert effective_size([1.0]) is not None\n", "test")]})
    start = GOOD.model_copy(update={"test": BLUNT})
    done = checked(start, ask)
    assert (done.draft, done.level, requested_prompts(ask)) == (start, Level.EXECUTED, ["strengthen"])
    assert done.evidence[-1].fidelity is not None
    assert done.evidence[-1].fidelity.faults is None


def test_a_foreign_formula_is_revised_and_judged_again() -> None:
    answer = edit("w**3", "w**2")
    answer["edits"] += edit("", SHARP, "test")["edits"]
    ask = model_of({"fidelity": [FOREIGN], "revise": [answer], "recheck": [FAITHFUL]})
    done = checked(cubed(), ask)
    assert (done.draft, done.level) == (GOOD, Level.FAITHFUL)
    assert requested_prompts(ask) == ["fidelity", "revise", "recheck"]
    assert "foreign: effective_size cubes" in ask.requests[1][2]["findings"]
    again = ask.requests[2][2]
    assert "foreign: effective_size cubes" in again["found"]
    assert "-    return 1.0 / sum(w**3" in again["difference"]
    assert "+    return 1.0 / sum(w**2" in again["difference"]
    assert "sources" not in again
    assert done.evidence[-1].repairs == 1


@pytest.mark.parametrize(("file", "kept"), [("implementation", False), ("test", True)])
def test_what_the_author_declared_holds_until_the_module_changes(file: str, kept: bool) -> None:
    before = GOOD.model_copy(update={"declared": ("[1] left out: the scale",)})
    text = getattr(GOOD, file).replace("effective_size", "size")
    after = applied(before, [Edit.model_validate({"file": file, "search": "", "replace": text})])
    assert after.declared == (before.declared if kept else ())


def test_a_revision_that_breaks_the_code_is_dropped() -> None:
    ask = model_of(
        {
            "fidelity": [FOREIGN],
            "revise": [edit("w**3", "w**2")],
            "repair": lambda inputs: edit("total = sum(values)", f"total = sum(values) + {len(inputs['tried'])}"),
        }
    )
    done = checked(cubed(), ask)
    assert (done.draft, done.level) == (cubed(), Level.TESTED)
    assert done.evidence[-1].reason is not None
    assert "cubes the weights" in done.evidence[-1].reason
    assert "a revision was not used, since it was no better (" in done.evidence[-1].reason
    assert (requested_prompts(ask).count("repair"), requested_prompts(ask).count("fidelity")) == (ROUNDS, 1)


def test_a_revision_of_smaller_share_is_dropped_with_its_share() -> None:
    start = GOOD.model_copy(update={"excerpt": LINES.replace("1.0 / sum(x ** 2 for x in n)", "n")})
    worse = MODULE.replace("    return [v / total", "    count = len(values) ** 3 - 1\n    return [v / total")
    done = checked(start, model_of({"fidelity": [FAITHFUL], "revise": [edit("", worse)], "recheck": [FAITHFUL]}))
    assert done.draft == start
    own, other = share(MODULE, start.excerpt), share(worse, start.excerpt)
    assert other < own < 0.7
    reason = done.evidence[-1].reason or ""
    assert reason.startswith(f"not faithful: {own:.1%} of its statements")
    assert f"no better (not faithful: {other:.1%} of its statements" in reason


@pytest.mark.parametrize("stage", ["strengthen", "fidelity", "revise", "recheck"])
def test_no_answer_loses_nothing_that_was_reached(stage: str) -> None:
    error = AnswerError("check: no answer that can be used")
    script: dict[str, dict[str, Any]] = {
        "strengthen": {"strengthen": [error]},
        "fidelity": {"fidelity": [error]},
        "revise": {"fidelity": [FOREIGN], "revise": [error]},
        "recheck": {
            "fidelity": [FOREIGN],
            "recheck": [error],
            "revise": [edit("total = sum(values)", "total = sum(values)\n    count = len(values)")],
        },
    }
    start = GOOD.model_copy(update={"test": BLUNT}) if stage == "strengthen" else GOOD
    done = checked(start, model_of(script[stage]))
    assert done.failed == "check: no answer that can be used"
    assert done.level is (Level.EXECUTED if stage == "strengthen" else Level.TESTED)
    assert done.draft == start
    if stage not in ("revise", "recheck"):
        assert "no answer" in (done.evidence[-1].reason or "")


def test_without_source_lines_the_model_is_not_called() -> None:
    ask = model_of({})
    done = checked(GOOD.model_copy(update={"excerpt": "fn main() { let x = 1; }"}), ask)
    assert (done.level, done.evidence[-1].fidelity, done.failed) == (Level.TESTED, None, None)
    assert "no Python source lines" in (done.evidence[-1].reason or "")


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


# --- composites

WHOLE = f'''\
# --- component: Effective sample size
{MODULE}

# --- new
def needs_resampling(values, share=0.5):
    """Whether the effective size is below a share of the number."""
    size = effective_size(values)
    return size < share * len(values)
'''
OWN_LINES = """\
# --- particles/filter.py:20-22 @ 1234567
def step(log, w, share=0.5):
    n = ess(w)
    return n < share * len(w)
"""
MADE = draft_of(
    WHOLE,
    "assert needs_resampling([1.0, 1.0, 18.0])\nassert not needs_resampling([1.0, 1.0])\n"
    "assert needs_resampling([1.0, 2.0], 0.95)\nassert not needs_resampling([1.0, 3.0], 0.75)\n",
    excerpt=OWN_LINES + LINES,
    own_excerpt=OWN_LINES,
    components=(UsedComponent(name="Effective sample size", implementation=MODULE, proven=True),),
)


def test_a_composite_is_compared_by_its_own_statements_with_its_own_lines() -> None:
    ask = model_of({"fidelity": [FAITHFUL]})
    done = checked(MADE, ask)
    assert done.level is Level.FAITHFUL
    assert done.evidence[-1].fidelity is not None
    assert done.evidence[-1].fidelity.share == 1.0
    assert "def normalised" not in ask.requests[0][2]["modules"]
    other = MADE.model_copy(
        update={"implementation": WHOLE.replace("size < share * len(values)", "max(values) + share")}
    )
    assert share(other.implementation, other.excerpt, other.scope) < 0.7
    assert share(other.implementation, other.excerpt) >= 0.7


def test_what_is_made_of_a_revised_component_gets_its_new_code() -> None:
    wrong, cubes = cubed().implementation, cubed()
    used = UsedComponent(name=GOOD.name, implementation=wrong, proven=True)
    whole = MADE.model_copy(
        update={
            "technique": "p#whole",
            "name": "Resampling",
            "implementation": WHOLE.replace("w**2", "w**3"),
            "test": "assert needs_resampling([1.0, 1.0, 18.0])\nassert not needs_resampling([1.0, 1.0])\n",
            "components": (used,),
        }
    )
    mended = {
        "cause": "it cubes",
        "edits": [
            {"file": "implementation", "search": "w**3", "replace": "w**2"},
            {"file": "test", "search": "", "replace": f"from implementation import *\n{SHARP}"},
        ],
    }
    both = {"verdicts": [FOREIGN, {**FAITHFUL, "technique": 2}]}
    ask = FakeModel({"fidelity": [both], "revise": [mended], "recheck": [FAITHFUL]})
    first, second = checked_all([ready(cubes), ready(whole)], ask)
    assert (first.level, second.level) == (Level.FAITHFUL, Level.FAITHFUL)
    assert "w**2" in second.draft.implementation
    assert "w**3" not in second.draft.implementation
    assert second.draft.components[0].implementation == first.draft.implementation


TWO_STATEMENTS = "The weights are divided by their sum first. One over the sum of their squares is given, times two."


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


WEIGHTED = """\
def scaled(values, power=1.0):
    total = sum(values) - 2.0 * values[0]
    if total < 0:
        values = [-v for v in values]
    return [(3.0 * v / total + 4.0 * v - 5.0) ** power for v in values]
"""
POSITIVE = "assert scaled([1.0, 3.0]) == [0.5, 11.5]\n"
NEGATIVE = "assert scaled([-1.0, -3.0]) == [-2.5, 2.5]\n"


def test_a_test_that_misses_a_whole_statement_is_sharpened_though_it_suffices() -> None:
    start = GOOD.model_copy(update={"implementation": WEIGHTED, "test": POSITIVE})
    state = ready(start)
    left_out = [s.change for s in state.proof.evidence.survivors if s.change.endswith(" left out")]
    assert (state.proof.evidence.level, bool(left_out)) == (Level.TESTED, True), state.proof
    ask = model_of({"strengthen": [edit("", POSITIVE + NEGATIVE, "test")]})
    after = strengthen(state, quickly, ask)
    assert requested_prompts(ask) == ["strengthen"]
    assert "scaled(power): never given a value other than the default" in ask.requests[0][2]["unnoticed"]
    assert not [s for s in after.proof.evidence.survivors if s.change.endswith(" left out")]
    none = model_of({"strengthen": [AnswerError("strengthen: none")]})
    assert strengthen(state, quickly, none).failed is None


def test_a_conversion_that_a_test_cannot_notice_asks_nothing() -> None:
    head, *lines = WEIGHTED.splitlines(keepends=True)
    converting = "".join(["import copy\n", head, "    values = copy.copy(values)\n", *lines])
    state = ready(GOOD.model_copy(update={"implementation": converting, "test": POSITIVE + NEGATIVE}))
    left_out = [s.change for s in state.proof.evidence.survivors if s.change.endswith(" left out")]
    assert left_out == ["values = copy.copy(values) left out"], state.proof
    assert strengthen(state, quickly, model_of({})) == state


def test_parameters_that_a_test_leaves_at_their_defaults_are_named() -> None:
    draft = GOOD.model_copy(update={"implementation": WEIGHTED, "test": POSITIVE})
    assert only_defaults(draft) == ["scaled(power)"]
    assert only_defaults(draft.model_copy(update={"test": "assert scaled([1.0], 2.0)"})) == []
    assert only_defaults(draft.model_copy(update={"test": "assert scaled([1.0], power=2.0)"})) == []


# --- statements of a definition that the lines do not implement

ONE_LINE_MORE = '''\
def effective_size(values):
    """One over the sum of squares."""
    return 1.0 / sum(w**2 for w in values)


def is_small(size, values):
    """Whether a size is below half of their number."""
    return size * 2.0 < len(values) - 0.5
'''
SMALL = draft_of(
    ONE_LINE_MORE,
    "assert effective_size([0.5, 0.5]) == 2.0\nassert abs(effective_size([0.25, 0.75]) - 1.6) < 1e-9\n"
    "assert is_small(1.0, [1, 2, 3])\nassert not is_small(1.5, [1, 2, 3])\nassert not is_small(1.25, [1, 2, 3])\n"
    "assert is_small(1.2, [1, 2, 3])\n",
    excerpt="def ess(n):\n    return 1.0 / sum(x ** 2 for x in n)\n",
    definition="One over the sum of the squared weights is the size. It is small below half of their number.",
)


def compared(second: str, remark: str = "the lines compare nothing") -> dict[str, Any]:
    statements = [
        {"statement": 1, "verdict": "same", "remark": ""},
        {"statement": 2, "verdict": second, "remark": remark},
    ]
    return {"technique": 1, "compared": "", "statements": statements, "faults": []}


def test_a_verbatim_copy_with_a_line_from_the_definition_is_faithful_if_the_review_agrees() -> None:
    draft = SMALL.model_copy(update={"by_definition": {"is_small": (2,)}})
    strict = share(draft.implementation, draft.excerpt, draft.scope)
    assert 0.5 <= strict < 0.7
    ask = model_of({"fidelity": [compared("added")]})
    done = checked(draft, ask)
    assert (done.level, requested_prompts(ask)) == (Level.FAITHFUL, ["fidelity"])
    fidelity = done.evidence[-1].fidelity
    assert fidelity is not None
    assert fidelity.share == strict
    assert fidelity.by_definition == pytest.approx(1 - strict, abs=0.002)
    assert [departure.kind for departure in fidelity.departures] == ["added"]


def test_it_is_not_where_the_review_sees_it_otherwise() -> None:
    draft = SMALL.model_copy(update={"by_definition": {"is_small": (2,)}})
    ask = model_of({"fidelity": [compared("same")], "revise": [{"cause": "none", "edits": []}]})
    done = checked(draft, ask)
    assert done.level is Level.TESTED
    assert (done.evidence[-1].fidelity or pytest.fail("none")).by_definition == 0.0


def test_declaring_all_of_it_gains_nothing() -> None:
    draft = SMALL.model_copy(update={"by_definition": {"is_small": (2,), "effective_size": (1,)}})
    ask = model_of({"revise": [{"cause": "none", "edits": []}], "fidelity": [compared("added")]})
    done = checked(draft.model_copy(update={"excerpt": OTHER_LINES}), ask)
    assert (done.level, requested_prompts(ask)) == (Level.TESTED, ["fidelity", "revise"])


def test_code_below_the_share_is_compared_with_its_definition_once() -> None:
    ask = model_of({"revise": [{"cause": "none", "edits": []}], "fidelity": [compared("absent")]})
    done = checked(SMALL, ask)
    assert (done.level, requested_prompts(ask)) == (Level.TESTED, ["fidelity", "revise"])
    fidelity = done.evidence[-1].fidelity
    assert fidelity is not None
    assert fidelity.statements == 2
    assert [(each.kind, each.searched) for each in fidelity.departures] == [("absent", False)]
    assert "- return size * 2.0 < len(values) - 0.5" in ask.requests[1][2]["findings"]
    assert "of its statements have a counterpart" in (done.evidence[-1].reason or "")
