"""Tests the loop of runs and repairs with a scripted model."""

from typing import Any

import pytest

from tests.build.guided.drafts import draft_of
from tests.build.guided.fake_model import FakeModel
from tests.build.guided.quick_runner import quickly
from xkg.build.guided.checking.debug import debug
from xkg.build.guided.checking.edits import Edit, applied
from xkg.build.guided.checking.run_report import report
from xkg.build.guided.coding.trial import node
from xkg.build.guided.draft import Draft
from xkg.model import Evidence, Level
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.levels import Proof, prove
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.runner import Environment, Limits

MODULE = """\
def weights(values):
    total = sum(values)
    return [v / total for v in values]


def effective_size(values):
    return 1.0 / sum(w**2 for w in weights(values))
"""
TEST = """\
from implementation import effective_size, weights

assert weights([1.0, 3.0]) == [0.25, 0.75]
assert effective_size([1.0, 1.0]) == 2.0
assert abs(effective_size([1.0, 3.0]) - 1.6) < 1e-9
"""
GOOD = draft_of(
    MODULE,
    TEST,
    name="Effective sample size",
    excerpt="def ess(w):\n    w = w / w.sum()\n    return 1.0 / (w ** 2).sum()\n",
)


def boxed(draft: Draft) -> Proof:
    environment = Environment(site=None, hash="0" * 16)
    return prove(node(draft), BubblewrapRunner(), environment, Limits(seconds=20, memory_mb=300))


def failed_proof(
    cause: Cause, level: Level = Level.IMPORTED, reason: str = "ValueError: no", output: str = ""
) -> Proof:
    return Proof(evidence=Evidence(level=level, reason=reason, output_end=output), cause=cause)


def edit(search: str, replace: str, file: str = "implementation", cause: str = "a slip") -> dict[str, Any]:
    return {"cause": cause, "edits": [{"file": file, "search": search, "replace": replace}]}


def broken(old: str, new: str, file: str = "implementation") -> Draft:
    text = GOOD.implementation if file == "implementation" else GOOD.test
    assert text.count(old) == 1
    return GOOD.model_copy(update={file: text.replace(old, new)})


def test_a_bug_is_repaired_and_the_first_run_stays() -> None:
    ask = FakeModel({"repair": [edit("v * total", "v / total")]})
    done = debug(broken("v / total", "v * total"), boxed, ask)
    assert (done.draft, done.repairs, done.refused) == (GOOD, 1, 0)
    assert done.first.level is Level.IMPORTED
    assert done.proof.evidence.level is Level.TESTED
    _, about, inputs, _ = ask.requests[0]
    assert about == "Effective sample size"
    assert "AssertionError" in inputs["failure"]
    assert "assert weights([1.0, 3.0]) == [0.25, 0.75]" in inputs["failure"]
    assert "def ess" in inputs["sources"]


@pytest.mark.parametrize(
    "weaker",
    [
        "assert weights([1.0, 3.0]) is not None",
        "assert weights([1.0, 3.0]) == [0.25, 0.75] or True",
        "assert weights([1.0, 3.0]) == weights([1.0, 3.0])",
        "if False:\n    assert weights([1.0, 3.0]) == [0.25, 0.75]",
        "w = weights([1.0, 3.0])\nassert w == w",
        "assert sum(abs(w) for w in weights([1.0, 3.0])) < 1e9",
        "assert len(weights([1.0, 3.0])) == 2",
    ],
)
def test_a_weaker_test_is_taken_back(weaker: str) -> None:
    exact = "assert weights([1.0, 3.0]) == [0.25, 0.75]"
    head = "from implementation import weights\n\n"
    good = GOOD.model_copy(update={"implementation": MODULE.partition("\n\n\n")[0] + "\n", "test": f"{head}{exact}\n"})
    start = good.model_copy(update={"test": good.test.replace("0.75]", "0.7]")})
    answers = [edit(exact.replace("0.75]", "0.7]"), weaker, "test"), edit("0.7]", "0.75]", "test")]
    done = debug(start, quickly, FakeModel({"repair": answers}))
    assert (done.draft, done.refused, done.passed) == (good, 1, True)


@pytest.mark.parametrize("together", [True, False])
def test_if_the_code_was_wrong_a_weaker_test_is_undone(together: bool) -> None:
    weaker = edit("assert weights([1.0, 3.0]) == [0.25, 0.75]", "assert weights([1.0, 3.0])[0] > 0", "test")
    mended = edit("v * total", "v / total")
    both = {**mended, "edits": mended["edits"] + weaker["edits"]}
    ask = FakeModel({"repair": [both] if together else [weaker, mended]})
    done = debug(broken("v / total", "v * total"), quickly, ask)
    assert (done.draft, done.passed, done.repairs) == (GOOD, True, 1 if together else 2)


def test_edits_that_do_not_fit_are_sent_back() -> None:
    wrong = [edit("v ** total", "v"), edit("values", "v"), edit("", " \n")]
    ask = FakeModel({"repair": [*wrong, edit("v * total", "v / total")]})
    done = debug(broken("v / total", "v * total"), quickly, ask)
    assert (done.passed, done.refused) == (True, 0)
    complaints = [str(complaint) for *_, complaint in ask.requests]
    assert "does not occur in the implementation" in complaints[0]
    assert "occurs 5 times" in complaints[1]
    assert [complaint == "None" for complaint in complaints] == [False, False, False, True]


def test_it_ends_after_the_rounds_with_the_best_draft() -> None:
    numbers = iter(range(100))
    ask = FakeModel({"repair": lambda _: edit("", f"{MODULE}\nSPARE = {next(numbers)}\nraise ValueError(SPARE)\n")})
    start = broken("v / total", "v * total")
    done = debug(start, quickly, ask, rounds=3)
    assert (done.draft, done.rounds, done.repairs) == (start, 3, 0)
    assert done.stopped == "does not pass after 3 rounds"
    assert done.failed is None
    assert "undone" in ask.requests[2][2]["tried"]


def test_a_missing_package_asks_no_model() -> None:
    ask = FakeModel({})
    done = debug(GOOD, lambda _: failed_proof(Cause.MISSING_PACKAGE, reason="missing package torch"), ask)
    assert ask.requests == []
    assert done.stopped is not None
    assert "missing package torch" in done.stopped
    assert (done.rounds, done.failed) == (0, None)


SWALLOWED = """\
    try:
        total = sum(values)
    except Exception:
        total = 4.0
"""


def test_only_refused_repairs_are_counted_and_the_draft_stays() -> None:
    ask = FakeModel({"repair": lambda _: edit("    total = sum(values)", SWALLOWED)})
    start = broken("v / total", "v * total")
    done = debug(start, quickly, ask)
    assert (done.draft, done.refused, done.repairs) == (start, 4, 0)
    assert done.failed is not None


def test_a_long_source_is_cut_to_what_a_prompt_holds() -> None:
    start = broken("v / total", "v * total").model_copy(update={"excerpt": "x = 1  # é\n" * 9000})
    ask = FakeModel({"repair": [edit("v * total", "v / total")]})
    debug(start, quickly, ask)
    inputs = ask.requests[0][2]
    code = "".join(inputs[name] for name in ("implementation", "test", "sources"))
    assert len(code.encode()) < 52_200
    assert inputs["sources"].endswith("(cut)")


# --- output of runs in prompts

TRACEBACK = """\
epoch 1 took 3.21 s
Traceback (most recent call last):
  File "/tmp/box-81hd/harness.py", line 60, in main
    exec(test, module.__dict__)
  File "/tmp/box-81hd/test.py", line 9, in <module>
    main()
    ~~~~^^
  File "/tmp/box-81hd/implementation.py", line 4, in weights
    return library.scale(values)
           ^^^^^^^^^^^^^^^^^^^^^
  File "/home/me/env/site/lib/python3.11/site-packages/library/core.py", line 10, in scale
    return inner(x)
  File "/home/me/env/site/lib/python3.11/site-packages/library/deep.py", line 99, in inner
    raise ValueError(f"bad {x}")
ValueError: bad <object at 0x7f12ab34cd56>
expected another
"""


def test_a_report_has_the_draft_s_own_frames_and_the_error_and_nothing_of_one_run() -> None:
    text = report(failed_proof(Cause.OWN_BUG, reason="ValueError: bad <object at 0x7f12ab34cd56>", output=TRACEBACK))
    other = TRACEBACK.replace("81hd", "x9qq").replace("7f12ab34cd56", "7fffff000000").replace("3.21", "4.5")
    assert text == report(
        failed_proof(Cause.OWN_BUG, reason="ValueError: bad <object at 0x7fffff000000>", output=other)
    )
    assert 'File "implementation.py", line 4, in weights' in text
    assert 'File "test.py", line 9, in <module>' in text
    assert 'File "library/deep.py", line 99, in inner' in text
    assert "expected another" in text
    for noise in ("harness", "library/core.py", "/tmp", "^^^", "0x7f"):
        assert noise not in text


# --- edits


def test_edits_are_made_in_order_in_their_file_whatever_blanks_end_lines() -> None:
    head = "def weights(values):   \n    total = sum(values)\t\n"
    steps = ("v / total", "v / whole"), ("v / whole", "v / all_"), (head, "def weights(values):\n    all_ = 1\n")
    edits = [Edit.model_validate({"file": "implementation", "search": s, "replace": r}) for s, r in steps]
    after = applied(GOOD, edits)
    assert "    all_ = 1\n    return [v / all_ for" in after.implementation
    assert after.test == GOOD.test
