"""Tests the checks on a draft that runs, namely stronger tests, fidelity and one revision. Also counts the questions
that the checks ask."""

from typing import Any

import pytest

from tests.build.guided.checking.judged import (
    BLUNT,
    FAITHFUL,
    FOREIGN,
    GOOD,
    LINES,
    MODULE,
    SHARP,
    checked,
    checked_all,
    compared,
    cubed,
    model_of,
    ready,
    requested_prompts,
)
from tests.build.guided.checking.test_debug import edit
from tests.build.guided.drafts import draft_of
from tests.build.guided.fake_model import FakeModel
from xkg.build.guided.checking.debug import ROUNDS
from xkg.build.guided.checking.edits import Edit, applied
from xkg.build.guided.draft import UsedComponent
from xkg.build.similarity.fidelity import share
from xkg.errors import AnswerError
from xkg.model import Level

OTHER_LINES = """\
def entropy(p):
    q = np.clip(p, 1e-12, None)
    return -(q * np.log(q)).sum(axis=-1)
"""


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
