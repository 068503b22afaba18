"""Proves levels with good and bad tests of a small implementation."""

from collections.abc import Callable, Sequence

import pytest

from xkg.model import Code, Level
from xkg.sandbox.evidence.failure_causes import Cause
from xkg.sandbox.evidence.levels import Interrupted, Proof, prove
from xkg.sandbox.evidence.run_slots import RunSlots
from xkg.sandbox.runner import Environment, Job, Limits, Outcome, Runner

NOTHING = Environment(site=None, hash="0" * 16)
SMALL = Limits(seconds=20, memory_mb=300, output_kb=16)

SMOOTHING = '''\
class Smoothing:
    """Exponential smoothing."""

    def __init__(self, keep=0.5):
        self.keep = keep
        self.value = None

    def update(self, new):
        if self.value is None:
            self.value = new
        else:
            self.value = self.keep * self.value + (1 - self.keep) * new
        return self.value


def scaled(values):
    total = sum(values)
    if total == 0:
        return values
    return [v / total for v in values]
'''

FULL = """\
if __name__ == "__main__":
    smoothing = Smoothing(keep=0.75)
    assert smoothing.update(4.0) == 4.0
    assert smoothing.update(8.0) == 5.0
    assert scaled([1.0, 3.0]) == [0.25, 0.75]
"""
SHAPES = """\
smoothing = Smoothing()
assert isinstance(smoothing.update(4.0), float)
assert isinstance(smoothing.update(8.0), float)
assert len(scaled([1.0, 3.0])) == 2
"""
SHOWS = (
    'if __name__ == "__main__":\n    s = Smoothing()\n    print(s.update(1.0), s.update(2.0), scaled([1.0, 2.0])[0])\n'
)


Proving = Callable[..., Proof]


@pytest.fixture
def proven(contained: Runner) -> Proving:
    def proof_of(
        test: str,
        implementation: str = SMOOTHING,
        *,
        runner: Runner = contained,
        components: Sequence[str] = (),
        slots: int = 1,
        **limits: float,
    ) -> Proof:
        code = Code(id="p#t@0123456789ab", technique="p#t", implementation=implementation, test=test)
        return prove(
            code,
            runner,
            NOTHING,
            SMALL.model_copy(update=limits),
            components=components,
            slots=RunSlots(slots),
        )

    return proof_of


def test_a_full_test_is_tested_with_its_score_and_what_it_missed(proven: Proving) -> None:
    proof = proven(FULL)
    evidence = proof.evidence
    assert (evidence.level, proof.cause, evidence.reason) == (Level.TESTED, Cause.PASSES, None)
    assert evidence.covered_lines == (5, 6, 9, 10, 12, 13, 17, 18, 20)
    assert evidence.uncovered_lines == (19,)
    assert evidence.mutants is not None
    assert evidence.mutation_score is not None
    assert evidence.mutants >= 10
    assert evidence.mutation_score >= 0.8
    # The mutant computes the same result if the total is 1.
    assert len(evidence.survivors) == round(evidence.mutants * (1 - evidence.mutation_score))
    assert evidence.command == "python harness.py"
    assert evidence.seconds is not None
    assert evidence.peak_memory_mb is not None
    assert (evidence.runner, evidence.exit_code, evidence.environment) == ("bubblewrap, warm", 0, NOTHING.hash)


def test_a_test_of_shapes_alone_is_executed_and_its_survivors_say_what_it_misses(proven: Proving) -> None:
    proof = proven(SHAPES)
    evidence = proof.evidence
    assert (evidence.level, proof.cause) == (Level.EXECUTED, Cause.PROVES_NOTHING)
    assert evidence.mutation_score is not None
    assert evidence.mutation_score < 0.6
    assert evidence.reason == f"the test detects {len_of(evidence)} of {evidence.mutants} changes to the code"
    assert (20, "v / total became v * total") in {(s.line, s.change) for s in evidence.survivors}


def len_of(evidence: object) -> int:
    return evidence.mutants - len(evidence.survivors)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (SHOWS, "the test proves nothing: it asserts nothing"),
        ("assert True\n", "the test passes with the body of Smoothing.__init__ left out, and with 2 others"),
        (
            "Smoothing().update(1)\nscaled([1])\nassert True\n",
            "the test passes with the body of Smoothing.update left",
        ),
        (FULL.replace("    assert scaled", "    #"), "the test passes with the body of scaled left out"),
        ("def test_scaled():\n    assert scaled([1]) == [1]\n", "the test passes with the body of "),
    ],
)
def test_a_test_that_cannot_fail_stays_executed(proven: Proving, test: str, reason: str) -> None:
    proof = proven(test)
    assert (proof.evidence.level, proof.cause) == (Level.EXECUTED, Cause.PROVES_NOTHING)
    assert proof.evidence.reason is not None
    assert proof.evidence.reason.startswith(reason)


def test_a_script_may_import_what_it_tests_by_name_and_end_with_unittest(proven: Proving) -> None:
    test = """
import unittest
import pickle
from implementation import scaled as under_test

class Test(unittest.TestCase):
    def test_scaled(self):
        assert under_test is scaled
        self.assertEqual(under_test([1.0, 3.0]), [0.25, 0.75])
        self.assertEqual(under_test([0, 0]), [0, 0])
        self.assertIs(pickle.loads(pickle.dumps(Keeper)), Keeper)

unittest.main()
"""
    implementation = SMOOTHING.partition("\n\n\n")[2] + "\n\nclass Keeper:\n    pass\n"
    proof = proven(test, implementation)
    assert (proof.evidence.level, proof.cause) == (Level.TESTED, Cause.PASSES), proof


def test_the_demonstration_of_the_implementation_is_not_run_with_its_test(proven: Proving) -> None:
    implementation = SMOOTHING + "\n\nif __name__ == '__main__':\n    raise SystemExit('a demonstration')\n"
    assert proven(SHOWS, implementation).evidence.level is Level.EXECUTED


@pytest.mark.parametrize(
    ("implementation", "test", "level", "cause", "reason"),
    [
        (SMOOTHING, "assert scaled([2]) == [2]\n", Level.IMPORTED, Cause.OWN_BUG, "AssertionError"),
        (SMOOTHING, "import os\nos._exit(0)\n", Level.IMPORTED, Cause.OWN_BUG,
         "exited the process before its test finished"),
        (SMOOTHING, "import os\nos.kill(os.getpid(), 9)\n", Level.IMPORTED, Cause.KILLED, "killed by signal 9"),
        (SMOOTHING, "import time\ntime.sleep(60)\n", Level.IMPORTED, Cause.TIME,
         "timeout: the run reached its limit of 4 seconds; the program was in test.py, line 2"),
        (SMOOTHING, "x = [bytearray(1 << 20) for _ in range(9999)]", Level.IMPORTED, Cause.MEMORY, "memory:"),
        ("while True: print('x' * 10_000)\n", "assert 1", Level.PARSED, Cause.KILLED, "output: printed without end"),
        (SMOOTHING, "import absent_package", Level.IMPORTED, Cause.MISSING_PACKAGE, "missing package absent_package"),
        (SMOOTHING, "import urllib.request as u\nu.urlopen('http://example.org')", Level.IMPORTED, Cause.DOWNLOAD,
         "urllib.error.URLError"),
        (SMOOTHING, "import json.absent_part", Level.IMPORTED, Cause.REMOVED_API,
         "the installed package json cannot be imported: ModuleNotFoundError: No module named 'json.absent_part'"),
        ("values = {}\nvalues['x']\n", "assert 1", Level.PARSED, Cause.OWN_BUG, "KeyError: 'x'"),
        ("def f(:\n", "assert 1", Level.NONE, Cause.OWN_BUG, "does not parse"),
        (SMOOTHING, "", Level.IMPORTED, Cause.NO_TEST, "there is no test"),
        ("import absent_package\n", "", Level.PARSED, Cause.MISSING_PACKAGE, "missing package absent_package"),
    ],
)  # fmt: skip
def test_what_stops_a_test_is_named(
    proven: Proving, implementation: str, test: str, level: Level, cause: Cause, reason: str
) -> None:
    proof = proven(test, implementation, seconds=4 if cause is Cause.TIME else 20)
    assert (proof.evidence.level, proof.cause) == (level, cause), proof
    assert proof.evidence.reason is not None
    assert proof.evidence.reason.startswith(reason)
    assert "\n" not in proof.evidence.reason


def test_a_test_waits_for_its_own_fork(proven: Proving) -> None:
    """The fork ends like any Python process, so the run does not wait until its time limit."""
    fork = "import os\nchild = os.fork()\nif not child:\n    raise SystemExit\nassert os.waitpid(child, 0)[1] == 0\n"
    proof = proven(fork + FULL)
    assert (proof.evidence.level, proof.cause) == (Level.TESTED, Cause.PASSES), proof


def test_what_is_printed_at_the_end_of_the_process_hides_no_error(proven: Proving) -> None:
    test = "import atexit, json\natexit.register(print, 'leaked: 514 functions')\njson.no_such_thing\n"
    proof = proven(test)
    assert proof.cause is Cause.REMOVED_API
    assert proof.evidence.output_end.endswith("AttributeError: module 'json' has no attribute 'no_such_thing'")


class Unused:
    name = "unused"

    def run(self, job: Job) -> Outcome:
        raise AssertionError(f"nothing was to be run, but {job.arguments} was")


def test_what_cannot_be_run_is_not_run() -> None:
    environment = NOTHING.model_copy(update={"missing": {"torch": "needs about 5,200 MB"}})
    code = Code(id="p#t@0", technique="p#t", implementation="import torch\n", test="assert torch")
    proof = prove(code, Unused(), environment, SMALL)
    assert (proof.evidence.level, proof.cause) == (Level.PARSED, Cause.MISSING_PACKAGE)
    assert proof.evidence.reason == "missing package torch: needs about 5,200 MB"
    julia = code.model_copy(update={"language": "julia", "level": Level.PARSED})
    proof = prove(julia, Unused(), environment, SMALL)
    assert (proof.evidence.level, proof.cause) == (Level.PARSED, Cause.LANGUAGE)


def test_a_test_that_does_not_bear_tracing_is_judged_without_coverage(proven: Proving) -> None:
    proof = proven("import sys\nassert sys.gettrace() is None\n" + FULL)
    assert (proof.evidence.level, proof.cause) == (Level.TESTED, Cause.PASSES)
    assert proof.evidence.covered_lines is None


def test_code_that_runs_in_another_process_is_no_less_tested(proven: Proving) -> None:
    test = """
import os
read, write = os.pipe()
if os.fork() == 0:
    os.write(write, str(scaled([1.0, 3.0]) == [0.25, 0.75] and scaled([0, 0]) == [0, 0]).encode())
    os._exit(0)
assert os.read(read, 9) == b"True"
assert shifted(1) == 3
"""
    implementation = SMOOTHING.partition("\n\n\n")[2] + "\n\ndef shifted(x):\n    return x + 2\n"
    proof = proven(test, implementation)
    assert (proof.evidence.level, proof.cause) == (Level.TESTED, Cause.PASSES)
    assert proof.evidence.uncovered_lines == (2, 3, 4, 5)


class Slow:
    """Imitates a machine on which each run takes `seconds`."""

    name = "slow"
    weaker = ()

    def __init__(self, runner: Runner, seconds: float) -> None:
        self._runner = runner
        self._seconds = seconds

    def run(self, job: Job) -> Outcome:
        return self._runner.run(job).model_copy(update={"seconds": self._seconds})


def test_a_machine_that_is_too_slow_settles_nothing(proven: Proving, contained: Runner) -> None:
    proof = proven(FULL, runner=Slow(contained, 200.0))
    assert (proof.evidence.level, proof.cause) == (Level.EXECUTED, Cause.NOT_SETTLED)
    assert proof.evidence.mutants is None
    assert proof.evidence.reason is not None
    assert proof.evidence.reason.startswith("it is not known whether the test can fail: the machine was too slow")


class Stalls(Slow):
    """Makes every run of changed code time out, and also the next run of the original code."""

    stalled = False

    def run(self, job: Job) -> Outcome:
        outcome = self._runner.run(job)
        changed = job.files["loaded.py"] != job.files["implementation.py"]
        stalls, self.stalled = changed or self.stalled, changed
        return outcome.model_copy(update={"ended": "timeout", "exit_code": None}) if stalls else outcome


def test_a_change_that_takes_too_long_on_a_busy_machine_is_not_noticed(proven: Proving, contained: Runner) -> None:
    proof = proven("assert True\n", runner=Stalls(contained, 0))
    assert (proof.evidence.level, proof.cause) == (Level.EXECUTED, Cause.NOT_SETTLED)


def test_a_proof_that_is_called_off_says_nothing() -> None:
    code = Code(id="p#t@0", technique="p#t", implementation=SMOOTHING, test=FULL)
    with pytest.raises(Interrupted):
        prove(code, Unused(), NOTHING, SMALL, stopped=lambda: True)


# --- composites, and how many changes are meaningful

PART = """\
def clipped(values, bound=3.0):
    kept = []
    for value in values:
        if value > bound:
            value = bound
        if value < -2 * bound:
            value = -2 * bound
        kept.append(value * 1 + 0)
    return kept
"""
WHOLE = f"""\
# --- component: Clipping
{PART}

# --- new
def filtered(values, rate=0.25):
    level = 0.5
    levels = []
    for value in clipped(values):
        level = level + rate * (value - level)
        levels.append(level)
    return levels
"""
OF_WHOLE = "assert filtered([2.5, 8.5], rate=0.5) == [1.5, 2.25]\nassert filtered([0.5, 4.5])[1] == 1.125\n"


def test_a_composite_is_judged_on_its_own_statements(proven: Proving) -> None:
    alone = proven(OF_WHOLE, WHOLE).evidence
    judged = proven(OF_WHOLE, WHOLE, components=[PART]).evidence
    assert (judged.level, judged.reason) == (Level.TESTED, None)
    first_own = WHOLE[: WHOLE.index("def filtered")].count("\n") + 1
    assert all(survivor.line >= first_own for survivor in judged.survivors)
    assert judged.covered_lines is not None
    assert min(judged.covered_lines) > first_own
    assert alone.mutants is not None
    assert judged.mutants is not None
    assert alone.mutants > judged.mutants >= 5
    assert any(survivor.line < first_own for survivor in alone.survivors)


def test_a_composite_whose_own_statements_are_not_tested_is_not(proven: Proving) -> None:
    blunt = "assert len(filtered([2.5, 8.5])) == 2\nassert clipped([9.0]) == [3.0]\n"
    evidence = proven(blunt, WHOLE, components=[PART]).evidence
    assert (evidence.level, evidence.excused) == (Level.EXECUTED, 0)
    assert evidence.reason is not None
    assert evidence.reason.startswith("the test detects ")


def test_a_component_that_was_altered_or_left_uncalled_is_noticed(proven: Proving) -> None:
    altered = WHOLE.replace("value = bound\n        if", "value = bound / 2\n        if")
    evidence = proven(OF_WHOLE.replace("2.25", "1.5").replace("1.125", "0.75"), altered, components=[PART]).evidence
    assert any(survivor.line < 12 for survivor in evidence.survivors), "an altered component counts as new"
    few = proven("assert filtered([2.5, 2.5]) == [1.0, 1.375]\n", WHOLE, components=[PART]).evidence
    assert "clipped(values) became values" in {survivor.change for survivor in few.survivors}


def test_code_that_has_nothing_of_its_own_is_not_tested_by_that(proven: Proving) -> None:
    proof = proven("assert clipped([9.0]) == [3.0]\n", PART, components=[PART])
    assert (proof.evidence.level, proof.cause) == (Level.EXECUTED, Cause.PROVES_NOTHING)
    assert "each statement belongs to a component" in (proof.evidence.reason or "")


def test_of_little_code_every_change_is_tried_and_the_reason_says_that_there_are_no_more(proven: Proving) -> None:
    two = "def f(x):\n    return x + 1\n"
    evidence = proven("assert f(3) == 4\n", two).evidence
    assert (evidence.level, evidence.mutants, evidence.mutation_score) == (Level.TESTED, 2, 1.0)
    evidence = proven("assert f(3.0) > 0\n", two + "\n\ndef g(x):\n    return x * 2 + 1\n").evidence
    assert evidence.level is Level.EXECUTED
    weak = proven("assert f(3.0) > 3\nassert g(3.0) > 3\n", two + "\n\ndef g(x):\n    return x * 2 + 1\n").evidence
    assert weak.reason == "the test detects 2 of 6 changes to the code (all there are)"


def test_of_more_code_ten_changes_are_tried_though_the_test_runs_less(proven: Proving) -> None:
    unused = "".join(f"\n\ndef _unused{i}(x):\n    return x * {i} + x / 3 - x\n" for i in range(4))
    evidence = proven("assert f(3) == 4\n", "def f(x):\n    return x + 1\n" + unused).evidence
    assert (evidence.level, evidence.mutants) == (Level.EXECUTED, 10)
    assert evidence.reason == "the test detects 2 of 10 changes to the code"


EQUAL = """\
def f(x, y):
    a = x + 0 * 2
    return a * y - 1.5 * x + y
"""


def test_changes_that_compute_the_same_do_not_count_up_to_a_quarter(proven: Proving) -> None:
    test = "assert f(1.0, 3.0) == 4.5\nassert f(1.0, 4.5) == 7.5\n"
    evidence = proven(test, EQUAL).evidence
    assert (evidence.level, evidence.excused, evidence.mutants, evidence.mutation_score) == (Level.TESTED, 2, 7, 0.714)
    # One survivor is an equivalent change. Another survivor changes the result only if x is not 1.
    assert "1.5 * x became 1.5 / x" in {survivor.change for survivor in evidence.survivors}
    many = EQUAL.replace("    return", "".join(f"    a = a + 0 * {i}\n" for i in range(2, 6)) + "    return")
    evidence = proven(test, many).evidence
    assert (evidence.level, evidence.excused) == (Level.EXECUTED, 0)


SHADOWED = "import math as m\n\n\ndef half(x):\n    return m.floor(x / 2)\n"
SHADOWING = "{}\nclass m:\n    floor = float\nassert half(5) == 2\nassert half(8) == 4\nassert half(9) == 4\n"


def test_what_a_script_binds_does_not_change_the_code_that_it_imports(proven: Proving) -> None:
    apart = proven(SHADOWING.format("from implementation import half"), SHADOWED)
    assert apart.evidence.level is Level.TESTED
    same_file = proven(SHADOWING.format("if __name__ == '__main__':\n    pass"), SHADOWED)
    assert same_file.evidence.level is Level.IMPORTED
