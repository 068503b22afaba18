# ruff: noqa: E501
"""Tests the guard against repairs that circumvent the test, and the repairs that it must allow. Mutants show the cost
of a weaker test (`tests/build/guided/checking/test_debug.py`)."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build.guided.drafts import draft_of
from xkg.build.guided.draft import Draft
from xkg.build.guided.repair_guard.guard import complaint

MODULE = '''\
import numpy as np
from scipy.integrate import simps


def kernel(x, y, width=1.0):
    """Gaussian kernel matrix of two sets of points."""
    x = np.asarray(x, dtype=np.float64)
    distance = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1)
    return np.exp(-distance / (2 * width**2))


def _median(values):
    ordered = np.sort(values)
    return ordered[len(ordered) // 2]


def discrepancy(x, y, width=None):
    """Squared maximum mean discrepancy."""
    if width is None:
        width = _median(np.abs(x - y).ravel()) + 1e-3
    within = kernel(x, x, width).mean() + kernel(y, y, width).mean()
    across = kernel(x, y, width).mean()
    return within - 2 * across


class Smoother:
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

    def area(self, values):
        total = simps(values, dx=0.5)
        return total / len(values)
'''
TEST = """\
import numpy as np
from implementation import Smoother, discrepancy, kernel


def check_smoothing():
    smoother = Smoother(keep=0.75)
    assert smoother.update(4.0) == 4.0
    assert abs(smoother.update(8.0) - 5.0) < 1e-6


def main():
    x = np.array([[0.0], [1.0]])
    y = np.array([[0.0], [2.0]])
    k = kernel(x, y)
    assert k.shape == (2, 2)
    assert np.allclose(k, [[1.0, 0.13533], [0.60653, 0.60653]], atol=1e-5)
    assert k.min() > 0 and k.max() <= 1.0
    assert discrepancy(x, x) == 0.0
    assert 0.0 < discrepancy(x, y, width=1.0) < 0.5
    assert isinstance(discrepancy(x, y), float)
    check_smoothing()


if __name__ == "__main__":
    main()
"""
DRAFT = draft_of(MODULE, TEST, name="Kernel discrepancy")
CLOSE = "assert np.allclose(k, [[1.0, 0.13533], [0.60653, 0.60653]], atol=1e-5)"
ZERO = "assert discrepancy(x, x) == 0.0"
SHAPE = "assert k.shape == (2, 2)"
BOTH = "assert k.min() > 0 and k.max() <= 1.0"
RETURN = "return within - 2 * across"
EXP = "return np.exp(-distance / (2 * width**2))"


def changed(*edits: tuple[str, str], draft: Draft = DRAFT) -> Draft:
    """Replaces texts in the draft. Each text must occur exactly once, in one of the draft's two files."""
    texts = {"implementation": draft.implementation, "test": draft.test}
    for old, new in edits:
        assert sum(text.count(old) for text in texts.values()) == 1, old
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    return draft.model_copy(update=texts)


# fmt: off
GOT_AROUND = {
    "dropped": [(f"    {CLOSE}\n", "")],
    "commented out": [(CLOSE, f"# {CLOSE}")],
    "printed instead": [(ZERO, "print(discrepancy(x, x) == 0.0)")],
    "True": [(ZERO, "assert True")],
    "in try and except": [(f"    {ZERO}\n", f"    try:\n        {ZERO}\n    except AssertionError:\n        pass\n")],
    "main in try": [('":\n    main()', '":\n    try:\n        main()\n    except BaseException:\n        pass')],
    "suppressed": [("import numpy as np\nfrom implementation", "import contextlib\nimport numpy as np\nfrom implementation"), (f"    {ZERO}\n", f"    with contextlib.suppress(AssertionError):\n        {ZERO}\n")],
    "finally return": [(f"    {CLOSE}\n", f"    try:\n        {CLOSE}\n    finally:\n        return\n")],
    "exits early": [("import numpy as np\nfrom implementation", "import sys\nimport numpy as np\nfrom implementation"), (f"    {CLOSE}\n", f"    sys.exit(0)\n    {CLOSE}\n")],
    "exits hard": [("import numpy as np\nfrom implementation", "from os import _exit as done\nimport numpy as np\nfrom implementation"), (f"    {CLOSE}\n", f"    {CLOSE}\n    done(0)\n")],
    "raises SystemExit": [(f"    {CLOSE}\n", f"    {CLOSE}\n    raise SystemExit\n")],
    "replaces the code under test": [("\n\ndef check_smoothing():", "\n\ndef discrepancy(x, y, width=None):\n    return 0.0\n\n\ndef check_smoothing():")],
    "imports it from elsewhere": [("import Smoother, discrepancy, kernel", "import Smoother, discrepancy\nfrom sklearn import rbf_kernel as kernel")],
    "patches the comparison": [("\n\ndef check_smoothing():", "\nnp.allclose = lambda *a, **k: True\n\n\ndef check_smoothing():")],
    "shadows a builtin": [("\n\ndef check_smoothing():", "\nabs = lambda value: 0.0\n\n\ndef check_smoothing():")],
    "patches the module": [("\n\ndef check_smoothing():", "\nimport implementation\nimplementation.discrepancy = lambda x, y: 0.0\n\n\ndef check_smoothing():")],
    "mocks": [("\n\ndef check_smoothing():", "\nfrom unittest.mock import MagicMock\nk = MagicMock()\n\n\ndef check_smoothing():")],
    "skips": [("\n\ndef check_smoothing():", "\nimport pytest\n\n@pytest.mark.skip\ndef check_smoothing():")],
    "turns warnings off": [("\n\ndef check_smoothing():", "\nimport warnings\nwarnings.filterwarnings('ignore')\n\n\ndef check_smoothing():")],
    "in a thread": [("    check_smoothing()\n", "    import threading\n    threading.Thread(target=check_smoothing).start()\n")],
    "no test left": [(TEST[TEST.index("def check") :], "")],
    "does not parse": [(ZERO, "assert discrepancy(x, x ==")],
    # --- in the implementation
    "swallows": [(f"    {RETURN}", f"    try:\n        {RETURN}\n    except Exception:\n        return 0.0")],
    "bare except": [(f"    {EXP}", f"    try:\n        {EXP}\n    except:\n        return np.zeros(1)")],
    "public function gone": [(MODULE[MODULE.index("def discrepancy") : MODULE.index("class Smoother")], "")],
    "second definition": [("\n\nclass Smoother:", "\n\ndef discrepancy(x, y, width=None):\n    return 0.0\n\n\nclass Smoother:")],
    "asks who runs it": [(RETURN, 'return 0.0 if __name__ == "__main__" else within - 2 * across')],
    "looks for the test": [("import numpy as np\nfrom scipy", "import sys\nimport numpy as np\nfrom scipy"), (RETURN, "return 0.0 if 'test' in sys.modules else within - 2 * across")],
    "looks at its caller": [("import numpy as np\nfrom scipy", "import inspect\nimport numpy as np\nfrom scipy"), (RETURN, "return 0.0 if len(inspect.stack()) > 2 else within - 2 * across")],
    "equal to everything": [("\n\nclass Smoother:", "\n\nclass Anything(float):\n    def __eq__(self, other):\n        return True\n\n\nclass Smoother:"), (RETURN, "return Anything(within - 2 * across)")],
    "ends the process": [("import numpy as np\nfrom scipy", "import os\nimport numpy as np\nfrom scipy"), (RETURN, "os._exit(0)")],
    "patches the library": [("\n\ndef kernel(", "\nnp.allclose = lambda *a, **k: True\n\n\ndef kernel(")],
    "runs code from a string": [(RETURN, "return eval('0.0')")],
}

HONEST = {
    "import of a renamed function": [("from scipy.integrate import simps", "from scipy.integrate import simpson"), ("simps(values, dx=0.5)", "simpson(values, dx=0.5)")],
    "import with a fallback": [("from scipy.integrate import simps", "try:\n    from scipy.integrate import simpson as simps\nexcept ImportError:\n    from scipy.integrate import simps")],
    "shape": [("x[:, None, :] - y[None, :, :]", "x[:, np.newaxis, :] - np.asarray(y)[np.newaxis, :, :]")],
    "off by one": [("ordered[len(ordered) // 2]", "ordered[(len(ordered) - 1) // 2]")],
    "wrong expected constant": [("0.13533", "0.1353353")],
    "exact float compared closely": [(ZERO, "assert abs(discrepancy(x, x)) < 1e-9")],
    "tolerance of float32": [("< 1e-6", "< 1e-5")],
    "renamed variable": [("k = kernel(x, y)\n    assert k.shape == (2, 2)", "gram = kernel(x, y)\n    k = gram\n    assert gram.shape == (2, 2)")],
    "expected value by its own formula": [("[[1.0, 0.13533], [0.60653, 0.60653]]", "np.exp(-((x - y.T) ** 2) / 2)")],
    "unpacked conjunction": [(BOTH, "assert k.min() > 0\n    assert k.max() <= 1.0")],
    "helper added": [("def discrepancy(", "def _mean(values):\n    return float(np.mean(values))\n\n\ndef discrepancy("), ("kernel(x, y, width).mean()", "_mean(kernel(x, y, width))")],
    "private function inlined": [(MODULE[MODULE.index("def _median") : MODULE.index("def discrepancy")], ""), ("_median(np.abs(x - y).ravel())", "np.median(np.abs(x - y))")],
    "guard against an empty input": [("    within = kernel", "    if len(x) == 0:\n        return 0.0\n    within = kernel")],
    "assertion in a loop": [(f"    {ZERO}\n", "    for points in (x, y):\n        assert discrepancy(points, points) == 0.0\n")],
    "public function renamed": [("def discrepancy(", "def squared_mmd("), ("import Smoother, discrepancy, kernel", "import Smoother, kernel, squared_mmd"), (ZERO, "assert squared_mmd(x, x) == 0.0"), ("0.0 < discrepancy(x, y, width=1.0) < 0.5", "0.0 < squared_mmd(x, y, width=1.0) < 0.5"), ("isinstance(discrepancy(x, y), float)", "isinstance(squared_mmd(x, y), float)")],
    "filled in place": [(EXP, "result = np.empty_like(distance)\n    np.exp(-distance / (2 * width**2), out=result)\n    return result")],
    "pairs in a loop": [(CLOSE, "for got, wanted in zip(k.ravel(), [1.0, 0.13533, 0.60653, 0.60653]):\n        assert abs(got - wanted) < 1e-5")],
}
# fmt: on


@pytest.mark.parametrize("name", GOT_AROUND)
def test_a_repair_that_gets_around_the_test_is_refused(name: str) -> None:
    assert complaint(DRAFT, changed(*GOT_AROUND[name])) is not None


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_repair_is_let_through(name: str) -> None:
    assert complaint(DRAFT, changed(*HONEST[name])) is None


def test_a_broken_test_may_be_repaired_but_keeps_its_assertions() -> None:
    broken = changed((ZERO, "assert discrepancy(x, x ==="))
    assert complaint(broken, DRAFT) is None
    assert complaint(broken, changed((f"    {ZERO}\n", ""), (f"    {SHAPE}\n", ""), (f"    {BOTH}\n", ""))) is not None


def test_what_was_there_before_is_no_fault_of_the_repair() -> None:
    sloppy = changed(
        (f"    {ZERO}\n", f"    try:\n        {ZERO}\n    except Exception:\n        pass\n"),
        ("import numpy as np\nfrom implementation", "import warnings\nimport numpy as np\nfrom implementation"),
        ("def check_smoothing():", "warnings.simplefilter('ignore')\n\n\ndef check_smoothing():"),
    )
    assert complaint(sloppy, changed(("dtype=np.float64", "dtype=float"), draft=sloppy)) is None


def test_public_functions_may_go_on_request() -> None:
    less = changed((MODULE[MODULE.index("class Smoother") :], ""), ("    check_smoothing()\n", ""))
    less = less.model_copy(update={"test": less.test.replace("Smoother, ", "")})
    assert "Smoother was removed" in str(complaint(DRAFT, less))
    assert complaint(DRAFT, less, may_remove=True) is None


LINES = st.sampled_from(
    [
        "assert f(1) == 2",
        "assert abs(f(1) - 2.0) < 1e-6",
        "assert f(1) == 2 or f(2) == 3",
        "assert np.allclose(f(x), [1.0, 2.0])",
        "for i in range(3):\n    assert f(i) == i + 1",
        "if f(1) > 0:\n    assert f(2) == 3",
        "def check(value):\n    assert value == 2",
        "check(f(1))",
        "with pytest.raises(ValueError):\n    f(None)",
        "x = f(2)",
        "try:\n    f(0)\nexcept ValueError:\n    pass",
        "assert f(1) == f(1)",
        "assert True",
    ]
)


def draft(lines: list[str]) -> Draft:
    return draft_of("def f(x):\n    return x + 1\n", "\n".join(lines) + "\n")


@given(st.lists(LINES, max_size=8))
def test_no_change_at_all_is_never_refused(lines: list[str]) -> None:
    assert complaint(draft(lines), draft(lines)) is None
    respelt = draft([ast.unparse(ast.parse(line)) for line in lines])
    assert complaint(draft(lines), respelt) is None


@given(st.lists(LINES, max_size=8), st.lists(LINES.filter(lambda line: line.startswith("assert")), max_size=4))
def test_adding_assertions_is_never_refused(lines: list[str], more: list[str]) -> None:
    assert complaint(draft(lines), draft([*lines, *more])) is None


@given(st.lists(LINES, max_size=8), st.data())
def test_taking_out_an_assertion_of_a_value_is_always_refused(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines)))
    whole = [*lines[:at], "assert f(40) == 41", *lines[at:]]
    assert complaint(draft(whole), draft(lines)) is not None


@settings(max_examples=30)
@given(st.text(max_size=300))
def test_whatever_a_model_writes_gets_an_answer(text: str) -> None:
    reason = complaint(DRAFT, DRAFT.model_copy(update={"test": text}))
    assert reason is None or reason
    reason = complaint(DRAFT.model_copy(update={"test": text, "implementation": text}), DRAFT)
    assert reason is None or reason
