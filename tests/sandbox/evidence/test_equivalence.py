import pytest

from xkg.model import Code
from xkg.sandbox.evidence.equivalence import equivalent, script
from xkg.sandbox.evidence.harness_runs import HarnessRuns
from xkg.sandbox.evidence.mutation import mutants
from xkg.sandbox.evidence.run_slots import RunSlots
from xkg.sandbox.runner import Environment, Limits, Runner

CODE = '''\
def clipped(values, low=0.0):
    """Values without what is below."""
    kept = []
    for value in values:
        if value < low:
            value = low
        kept.append(value + 0 * 7)
    return kept


def scaled(values):
    total = sum(values)
    if total == 0:
        return values
    return [v / total for v in values]


class Mean:
    def __init__(self):
        self.count = 0
        self.total = 0.0

    def add(self, value):
        self.count += 1
        self.total += value
        return self.total / self.count
'''
TEST = """\
from implementation import Mean, clipped, scaled

if __name__ == "__main__":
    assert clipped([-1.0, 2.5, 4.0], low=0.5) == [0.5, 2.5, 4.0]
    assert abs(scaled([1.0, 3.0])[0] - 0.25) < 1e-9
    mean = Mean()
    for value in (4.0, 8.0):
        last = mean.add(value)
    assert last == 6.0
"""
LIMITS = Limits(seconds=20, memory_mb=300, output_kb=256)


def alike(contained: Runner, implementation: str, test: str) -> set[str]:
    code = Code(id="p#t@0123456789ab", technique="p#t", implementation=implementation, test=test)
    environment = Environment(site=None, hash="0" * 16)
    runs = HarnessRuns(code, contained, environment, RunSlots(2), lambda: False, 600)
    lines = set(range(1, implementation.count("\n") + 2))
    changes = list(mutants(implementation, lines, "s"))
    assert len(changes) > 3
    return {change.what for change in equivalent(changes, test, "seed", runs, LIMITS)}


def test_only_what_computes_the_same_is_equivalent(contained: Runner) -> None:
    found = alike(contained, CODE, TEST)
    # At the bound itself, both comparisons give the bound, and zero times a number is zero.
    assert {"7 became 8", "value < low became value >= low"} & found == {"7 became 8"}
    assert "0 * 7 became 0 / 7" in found
    # A condition that only zeros satisfy can change the result, so changes to it are not equivalent.
    assert not {"total == 0 became total != 0", "v / total became v * total", "self.count += 1 left out"} & found


@pytest.mark.parametrize(
    ("implementation", "test"),
    [
        # The function's result differs each time.
        ("import os\n\ndef f(x):\n    y = x + 0 * 7\n    return os.urandom(4)\n", "assert f(2.0)\n"),
        # The function always returns None.
        ("def f(x):\n    y = x + 0 * 7\n    z = y * 2\n    return None\n", "assert f(2.0) is None\n"),
        # The test does not call the function.
        ("def f(x):\n    y = x + 0 * 7\n    return y * 2\n\ndef g(x):\n    return x\n", "assert g(1.5) == 1.5\n"),
        # The function raises an error.
        ("def f(x):\n    y = x + 0 * 7\n    raise ValueError(y * 2)\n",
         "try:\n    f(1.5)\nexcept ValueError:\n    pass\n"),
        # The function returns the right result for the test's own number and 0 for all others.
        ("def f(x):\n    if x != 1.5:\n        return 0.0\n    return 3 * x + 0 * 7\n", "assert f(1.5) == 4.5\n"),
    ],
)  # fmt: skip
def test_without_evidence_nothing_is_equivalent(contained: Runner, implementation: str, test: str) -> None:
    assert alike(contained, implementation, test) == set()


def test_the_numbers_depend_on_the_seed_alone_and_the_first_are_the_test_s() -> None:
    one, again, other = (script(TEST, seed, following=False) for seed in ("a", "a", "b"))
    assert one == again != other
    assert "[[-1.0, 2.5, 4.0" not in one  # the sign is an operator and not part of the number
    assert "[[1.0, 2.5, 4.0, 0.5, 0.5, 2.5, 4.0, 1.0, 3.0" in one
