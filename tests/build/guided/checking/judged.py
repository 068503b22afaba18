"""Checks drafts of an effective sample size with a scripted model."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.build.guided.drafts import draft_of
from tests.build.guided.fake_model import FakeModel
from tests.build.guided.quick_runner import quickly
from xkg.build.code.codebase import Codebase
from xkg.build.guided.checking.debug import Debugged, debug
from xkg.build.guided.checking.judge import Checked, check, proved
from xkg.build.guided.code_answers import Shared
from xkg.build.guided.definition_statements import numbered
from xkg.build.guided.draft import Draft
from xkg.model import Repository

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


TWO_STATEMENTS = "The weights are divided by their sum first. One over the sum of their squares is given, times two."


def compared(second: str, remark: str = "the lines compare nothing") -> dict[str, Any]:
    statements = [
        {"statement": 1, "verdict": "same", "remark": ""},
        {"statement": 2, "verdict": second, "remark": remark},
    ]
    return {"technique": 1, "compared": "", "statements": statements, "faults": []}
