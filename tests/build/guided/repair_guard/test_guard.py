# ruff: noqa: E501
"""The guard against repairs that make a test pass without mending anything, and what it has to let through."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
DRAFT = Draft(
    technique="p#k",
    name="Kernel discrepancy",
    implementation=MODULE,
    test=TEST,
    documentation="",
    sources=(),
    excerpt="",
)
CLOSE = "assert np.allclose(k, [[1.0, 0.13533], [0.60653, 0.60653]], atol=1e-5)"
SMOOTH = "assert abs(smoother.update(8.0) - 5.0) < 1e-6"
ZERO = "assert discrepancy(x, x) == 0.0"
SHAPE = "assert k.shape == (2, 2)"
BOTH = "assert k.min() > 0 and k.max() <= 1.0"
RETURN = "return within - 2 * across"
EXP = "return np.exp(-distance / (2 * width**2))"


def changed(*edits: tuple[str, str], draft: Draft = DRAFT) -> Draft:
    """The draft with each text, which occurs once in one of its two files, replaced."""
    texts = {"implementation": draft.implementation, "test": draft.test}
    for old, new in edits:
        assert sum(text.count(old) for text in texts.values()) == 1, old
        texts = {name: text.replace(old, new) for name, text in texts.items()}
    return draft.model_copy(update=texts)


# fmt: off
WEAKENED = {
    "dropped": [(f"    {CLOSE}\n", "")],
    "commented out": [(CLOSE, f"# {CLOSE}")],
    "printed instead": [(ZERO, "print(discrepancy(x, x) == 0.0)")],
    "made a docstring": [(ZERO, f'"""{ZERO}"""')],
    "looser tolerance": [("atol=1e-5)", "atol=1e-1)")],
    "looser relative tolerance": [("atol=1e-5)", "rtol=0.5, atol=1e-5)")],
    "tolerance in a variable": [("    x = np.array([[0.0], [1.0]])\n", "    TOL = 0.3\n    x = np.array([[0.0], [1.0]])\n"), ("atol=1e-5)", "atol=TOL)")],
    "looser distance": [("< 1e-6", "< 1.0")],
    "closeness with a wide net": [(ZERO, "assert np.isclose(discrepancy(x, x), 0.0, atol=10)")],
    "rounded away": [(ZERO, "assert round(discrepancy(x, x), 0) == 0.0")],
    "not None": [(ZERO, "assert discrepancy(x, x) is not None")],
    "isinstance": [(ZERO, "assert isinstance(discrepancy(x, x), float)")],
    "True": [(ZERO, "assert True")],
    "a text": [(ZERO, 'assert "discrepancy(x, x) == 0.0"')],
    "a tuple that is always true": [(ZERO, 'assert (discrepancy(x, x) == 0.0, "zero")')],
    "or True": [(ZERO, f"{ZERO} or True")],
    "or instead of and": [(BOTH, "assert k.min() > 0 or k.max() <= 1.0")],
    "one more alternative": [(ZERO, f"{ZERO} or discrepancy(x, x) == 1.0")],
    "one of several": [(ZERO, "assert discrepancy(x, x) in (0.0, 1.0, 2.0)")],
    "inequality": [(ZERO, "assert discrepancy(x, x) >= 0.0")],
    "not equal to something": [(ZERO, "assert discrepancy(x, x) != 17.0")],
    "equal to itself": [(ZERO, "d = discrepancy(x, x)\n    assert d == d")],
    "expected value from the function under test": [(ZERO, "expected = discrepancy(x, x)\n    assert discrepancy(x, x) == expected")],
    "expected matrix from the function under test": [("[[1.0, 0.13533], [0.60653, 0.60653]]", "kernel(x, y)")],
    "any instead of all": [(CLOSE, "assert np.isclose(k, [[1.0, 0.13533], [0.60653, 0.60653]], atol=1e-5).any()")],
    "shape by number of axes": [(SHAPE, "assert k.ndim == 2")],
    "values by shape": [(CLOSE, "assert k.shape[0] == 2")],
    "a wider bound": [("< 0.5", "< 500.0")],
    "half of a conjunction": [(BOTH, "assert k.max() <= 1.0")],
    "under if False": [(f"    {ZERO}\n", f"    if False:\n        {ZERO}\n")],
    "under a condition": [(f"    {ZERO}\n", f"    if discrepancy(x, x) == 0.0:\n        {ZERO}\n")],
    "under a name check": [('__name__ == "__main__"', '__name__ == "test"')],
    "after return": [(f"    {CLOSE}\n", f"    return\n    {CLOSE}\n")],
    "in a loop over nothing": [(f"    {ZERO}\n", f"    for _ in []:\n        {ZERO}\n")],
    "in while False": [(f"    {ZERO}\n", f"    while 0:\n        {ZERO}\n")],
    "in a function that nobody calls": [(f"    {ZERO}\n", f"    def later():\n        {ZERO}\n")],
    "its caller is gone": [("    check_smoothing()\n", "")],
    "in a generator": [("    smoother = Smoother(keep=0.75)\n", "    yield\n    smoother = Smoother(keep=0.75)\n")],
    "redefined helper": [("\n\ndef main():", "\n\ndef check_smoothing():\n    pass\n\n\ndef main():")],
    "in try and except": [(f"    {ZERO}\n", f"    try:\n        {ZERO}\n    except AssertionError:\n        pass\n")],
    "in try with a message": [(f"    {ZERO}\n", f"    try:\n        {ZERO}\n    except Exception as e:\n        print(e)\n")],
    "main in try": [('":\n    main()', '":\n    try:\n        main()\n    except BaseException:\n        pass')],
    "suppressed": [("import numpy as np\nfrom implementation", "import contextlib\nimport numpy as np\nfrom implementation"), (f"    {ZERO}\n", f"    with contextlib.suppress(AssertionError):\n        {ZERO}\n")],
    "expected to fail": [("import numpy as np\nfrom implementation", "import pytest\nimport numpy as np\nfrom implementation"), (f"    {ZERO}\n", f"    with pytest.raises(AssertionError):\n        {ZERO}\n")],
    "finally return": [(f"    {CLOSE}\n", f"    try:\n        {CLOSE}\n    finally:\n        return\n")],
    "exits early": [("import numpy as np\nfrom implementation", "import sys\nimport numpy as np\nfrom implementation"), (f"    {CLOSE}\n", f"    sys.exit(0)\n    {CLOSE}\n")],
    "exits hard": [("import numpy as np\nfrom implementation", "from os import _exit as done\nimport numpy as np\nfrom implementation"), (f"    {CLOSE}\n", f"    {CLOSE}\n    done(0)\n")],
    "raises SystemExit": [(f"    {CLOSE}\n", f"    {CLOSE}\n    raise SystemExit\n")],
    "replaces what is tested": [("\n\ndef check_smoothing():", "\n\ndef discrepancy(x, y, width=None):\n    return 0.0\n\n\ndef check_smoothing():")],
    "imports it from elsewhere": [("import Smoother, discrepancy, kernel", "import Smoother, discrepancy\nfrom sklearn import rbf_kernel as kernel")],
    "patches the comparison": [("\n\ndef check_smoothing():", "\nnp.allclose = lambda *a, **k: True\n\n\ndef check_smoothing():")],
    "shadows a builtin": [("\n\ndef check_smoothing():", "\nabs = lambda value: 0.0\n\n\ndef check_smoothing():")],
    "patches the module": [("\n\ndef check_smoothing():", "\nimport implementation\nimplementation.discrepancy = lambda x, y: 0.0\n\n\ndef check_smoothing():")],
    "mocks": [("\n\ndef check_smoothing():", "\nfrom unittest.mock import MagicMock\nk = MagicMock()\n\n\ndef check_smoothing():")],
    "skips": [("\n\ndef check_smoothing():", "\nimport pytest\n\n@pytest.mark.skip\ndef check_smoothing():")],
    "no longer looks at the result": [(ZERO, "assert x[0, 0] == 0.0")],
    "result replaced by the expected": [("k = kernel(x, y)", "k = np.array([[1.0, 0.13533], [0.60653, 0.60653]])")],
    "turns warnings off": [("\n\ndef check_smoothing():", "\nimport warnings\nwarnings.filterwarnings('ignore')\n\n\ndef check_smoothing():")],
    "a summary instead of the values": [(CLOSE, "m = np.array([[1.0, 0.13533], [0.60653, 0.60653]])\n    assert np.allclose(k.mean(), m.mean(), atol=1e-5)")],
    "a part instead of all": [(CLOSE, "m = np.array([[1.0, 0.13533], [0.60653, 0.60653]])\n    assert np.allclose(k[:1], m[:1], atol=1e-5)")],
    "rounded by the library": [("np.allclose(k, [[1.0", "np.allclose(np.round(k, 1), [[1.0")],
    "expected under another name": [(ZERO, "first = discrepancy(x, x)\n    second = first\n    wanted = discrepancy(x, x)\n    assert second == wanted")],
    "in a thread": [("    check_smoothing()\n", "    import threading\n    threading.Thread(target=check_smoothing).start()\n")],
    "in a lazy map": [("    check_smoothing()\n", "    map(lambda _: check_smoothing(), [1])\n")],
    "only named": [("    check_smoothing()\n", "    check_smoothing\n")],
    "skipped by the data": [(f"    {ZERO}\n", f"    if len(x) > 5:\n        {ZERO}\n")],
    "pairs of the same": [(CLOSE, "for got, wanted in zip(k.ravel(), kernel(x, y).ravel()):\n        assert abs(got - wanted) < 1e-5")],
    "expected values filled by the code": [(CLOSE, "expected = np.zeros((2, 2))\n    for i in range(2):\n        expected[i] = kernel(x[i : i + 1], y)\n    assert np.allclose(k, expected, atol=1e-5)")],
    "no test left": [(TEST[TEST.index("def check") :], "")],
    "does not parse": [(ZERO, "assert discrepancy(x, x ==")],
    # --- in the implementation
    "stub": [(f"    distance = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1)\n    {EXP}\n", "    pass\n")],
    "stub that raises": [(f"    distance = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1)\n    {EXP}\n", "    raise NotImplementedError\n")],
    "returns its input": [(f"    distance = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1)\n    {EXP}\n", "    return x\n")],
    "returns a constant": [(RETURN, "return 0.0")],
    "returns filled arrays": [(EXP, "return np.ones((2, 2))")],
    "returns the expected matrix": [(EXP, "return np.array([[1.0, 0.13533], [0.60653, 0.60653]])")],
    "returns early": [("    within = kernel", "    return 0.0\n    within = kernel")],
    "computes and throws away": [(RETURN, "result = within - 2 * across\n    return 0")],
    "looks the answer up": [(RETURN, "return {1: 0.0}.get(len(x), within - 2 * across)")],
    "knows the test's input": [("    within = kernel", "    if x[1, 0] == 1.0:\n        return 0.1725\n    within = kernel")],
    "corrects by what the test expects": [(EXP, "result = np.exp(-distance / (2 * width**2))\n    result[0, 1] = 0.13533\n    return result")],
    "swallows": [(f"    {RETURN}", f"    try:\n        {RETURN}\n    except Exception:\n        return 0.0")],
    "bare except": [(f"    {EXP}", f"    try:\n        {EXP}\n    except:\n        return np.zeros(1)")],
    "swallows one kind": [(f"    {RETURN}", f"    try:\n        {RETURN}\n    except ValueError:\n        pass")],
    "public function gone": [(MODULE[MODULE.index("def discrepancy") : MODULE.index("class Smoother")], "")],
    "method hollowed": [("        if self.value is None:\n            self.value = new\n        else:\n            self.value = self.keep * self.value + (1 - self.keep) * new\n        return self.value", "        self.value = new\n        return new")],
    "rebound to a lambda": [("\n\nclass Smoother:", "\n\ndiscrepancy = lambda x, y, width=None: 0.0\n\n\nclass Smoother:")],
    "second definition": [("\n\nclass Smoother:", "\n\ndef discrepancy(x, y, width=None):\n    return 0.0\n\n\nclass Smoother:")],
    "method replaced outside": [("        return total / len(values)\n", "        return total / len(values)\n\n\nSmoother.update = lambda self, new: new\n")],
    "asks who runs it": [(RETURN, 'return 0.0 if __name__ == "__main__" else within - 2 * across')],
    "looks for the test": [("import numpy as np\nfrom scipy", "import sys\nimport numpy as np\nfrom scipy"), (RETURN, "return 0.0 if 'test' in sys.modules else within - 2 * across")],
    "looks at its caller": [("import numpy as np\nfrom scipy", "import inspect\nimport numpy as np\nfrom scipy"), (RETURN, "return 0.0 if len(inspect.stack()) > 2 else within - 2 * across")],
    "equal to everything": [("\n\nclass Smoother:", "\n\nclass Anything(float):\n    def __eq__(self, other):\n        return True\n\n\nclass Smoother:"), (RETURN, "return Anything(within - 2 * across)")],
    "ends the process": [("import numpy as np\nfrom scipy", "import os\nimport numpy as np\nfrom scipy"), (RETURN, "os._exit(0)")],
    "patches the library": [("\n\ndef kernel(", "\nnp.allclose = lambda *a, **k: True\n\n\ndef kernel(")],
    "hidden behind a decorator": [("def discrepancy(x, y, width=None):", "def _zero(function):\n    return lambda *a, **k: 0.0\n\n\n@_zero\ndef discrepancy(x, y, width=None):")],
    "runs code from text": [(RETURN, "return eval('0.0')")],
    "under if False in the code": [("    within = kernel(x, x, width).mean() + kernel(y, y, width).mean()\n    across = kernel(x, y, width).mean()\n    return within - 2 * across", "    if False:\n        within = kernel(x, x, width).mean()\n    return float(0)")],
}

HONEST = {
    "import of a renamed function": [("from scipy.integrate import simps", "from scipy.integrate import simpson"), ("simps(values, dx=0.5)", "simpson(values, dx=0.5)")],
    "import with a fallback": [("from scipy.integrate import simps", "try:\n    from scipy.integrate import simpson as simps\nexcept ImportError:\n    from scipy.integrate import simps")],
    "missing import in the test": [("import Smoother, discrepancy, kernel", "import Smoother, discrepancy, kernel, _median")],
    "removed alias": [("dtype=np.float64", "dtype=float")],
    "shape": [("x[:, None, :] - y[None, :, :]", "x[:, np.newaxis, :] - np.asarray(y)[np.newaxis, :, :]")],
    "dtype": [("x = np.asarray(x, dtype=np.float64)", "x, y = np.asarray(x, dtype=np.float32), np.asarray(y, dtype=np.float32)")],
    "off by one": [("ordered[len(ordered) // 2]", "ordered[(len(ordered) - 1) // 2]")],
    "wrong sign": [(RETURN, "return within + across - 3 * across")],
    "wrong expected constant": [("0.13533", "0.1353353")],
    "wrong expected shape": [("(2, 2)\n", "(2, 3)\n")],
    "wrong expected scalar": [("- 5.0) < 1e-6", "- 5.5) < 1e-6")],
    "exact float compared closely": [(ZERO, "assert abs(discrepancy(x, x)) < 1e-9")],
    "exact float compared with allclose": [(ZERO, "assert np.isclose(discrepancy(x, x), 0.0)")],
    "tolerance of float32": [("< 1e-6", "< 1e-5")],
    "two-sided bound instead of one": [("assert k.min() > 0 and", "assert 0.1 < k.min() < 0.2 and")],
    "direction of a bound": [("0.0 < discrepancy(x, y, width=1.0) < 0.5", "0.0 < discrepancy(x, y, width=1.0) < 0.25")],
    "order of assertions": [(f"    {SHAPE}\n    {CLOSE}\n", f"    {CLOSE}\n    {SHAPE}\n")],
    "renamed variable": [("k = kernel(x, y)\n    assert k.shape == (2, 2)", "gram = kernel(x, y)\n    k = gram\n    assert gram.shape == (2, 2)")],
    "expected value by its own formula": [("[[1.0, 0.13533], [0.60653, 0.60653]]", "np.exp(-((x - y.T) ** 2) / 2)")],
    "unpacked conjunction": [(BOTH, "assert k.min() > 0\n    assert k.max() <= 1.0")],
    "message added": [(ZERO, f'{ZERO}, "a set is no distance from itself"')],
    "wrong argument in the call": [("Smoother(keep=0.75)", "Smoother(0.75)")],
    "helper added": [("def discrepancy(", "def _mean(values):\n    return float(np.mean(values))\n\n\ndef discrepancy("), ("kernel(x, y, width).mean()", "_mean(kernel(x, y, width))")],
    "body moved to a helper": [("    within = kernel(x, x, width).mean() + kernel(y, y, width).mean()\n    across = kernel(x, y, width).mean()\n    return within - 2 * across", "    return _estimate(x, y, width)\n\n\ndef _estimate(x, y, width):\n    within = kernel(x, x, width).mean() + kernel(y, y, width).mean()\n    across = kernel(x, y, width).mean()\n    return within - 2 * across")],
    "private function inlined": [(MODULE[MODULE.index("def _median") : MODULE.index("def discrepancy")], ""), ("_median(np.abs(x - y).ravel())", "np.median(np.abs(x - y))")],
    "guard against an empty input": [("    within = kernel", "    if len(x) == 0:\n        return 0.0\n    within = kernel")],
    "validation added": [("    within = kernel", '    if x.ndim != 2:\n        raise ValueError("points are rows")\n    within = kernel')],
    "seeded": [("    x = np.array([[0.0], [1.0]])", "    np.random.seed(0)\n    x = np.array([[0.0], [1.0]])")],
    "a float in the end": [(RETURN, "return float(within - 2 * across)")],
    "assertion in a loop": [(f"    {ZERO}\n", "    for points in (x, y):\n        assert discrepancy(points, points) == 0.0\n")],
    "testing function of the library": [(CLOSE, "np.testing.assert_allclose(k, [[1.0, 0.13533], [0.60653, 0.60653]], atol=1e-5)")],
    "public function renamed": [("def discrepancy(", "def squared_mmd("), ("import Smoother, discrepancy, kernel", "import Smoother, kernel, squared_mmd"), (ZERO, "assert squared_mmd(x, x) == 0.0"), ("0.0 < discrepancy(x, y, width=1.0) < 0.5", "0.0 < squared_mmd(x, y, width=1.0) < 0.5"), ("isinstance(discrepancy(x, y), float)", "isinstance(squared_mmd(x, y), float)")],
    "annotations": [("def kernel(x, y, width=1.0):", "def kernel(x: np.ndarray, y: np.ndarray, width: float = 1.0) -> np.ndarray:")],
    "result kept on the way": [("        return total / len(values)", "        self.last = total / len(values)\n        return self.last")],
    "filled in place": [(EXP, "result = np.empty_like(distance)\n    np.exp(-distance / (2 * width**2), out=result)\n    return result")],
    "returns a closure": [(RETURN, "def estimate():\n        return within - 2 * across\n\n    return estimate()")],
    "pairs in a loop": [(CLOSE, "for got, wanted in zip(k.ravel(), [1.0, 0.13533, 0.60653, 0.60653]):\n        assert abs(got - wanted) < 1e-5")],
    "expected values worked out in a loop": [(CLOSE, "expected = np.zeros((2, 2))\n    for i in range(2):\n        for j in range(2):\n            expected[i, j] = np.exp(-((x[i, 0] - y[j, 0]) ** 2) / 2)\n    assert np.allclose(k, expected, atol=1e-5)")],
    "called from the module": [('if __name__ == "__main__":\n    main()', "main()")],
    "vectorised": [("            self.value = self.keep * self.value + (1 - self.keep) * new", "            self.value = new + self.keep * (self.value - new)")],
}
# fmt: on


@pytest.mark.parametrize("name", WEAKENED)
def test_a_repair_that_makes_the_test_prove_less_is_refused(name: str) -> None:
    assert complaint(DRAFT, changed(*WEAKENED[name])) is not None


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_repair_is_let_through(name: str) -> None:
    assert complaint(DRAFT, changed(*HONEST[name])) is None


def test_there_are_enough_of_both() -> None:
    assert len(WEAKENED) >= 40
    assert len(HONEST) >= 20


def test_a_complaint_names_the_assertion_and_what_is_wrong_with_it() -> None:
    reason = complaint(DRAFT, changed(("atol=1e-5)", "atol=0.1)")))
    assert reason is not None
    assert "allclose" in reason
    assert "tolerance is looser" in reason


HELPED = TEST.replace(
    "def check_smoothing():", "def same(got, wanted):\n    assert abs(got - wanted) < 1e-6\n\n\ndef check_smoothing():"
).replace(ZERO, "same(discrepancy(x, x), 0.0)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    same(discrepancy(x, x), 0.0)\n", ""),
        ("same(discrepancy(x, x), 0.0)", "same(discrepancy(x, x), discrepancy(x, x))"),
        ("same(discrepancy(x, x), 0.0)", "same(0.0, 0.0)"),
        ("- wanted) < 1e-6", "- wanted) < 1e6"),
        (
            "def same(got, wanted):\n    assert abs(got - wanted) < 1e-6",
            "def same(got, wanted, within=9.0):\n    assert abs(got - wanted) < within",
        ),
        ("    assert abs(got - wanted) < 1e-6\n", "    return\n    assert abs(got - wanted) < 1e-6\n"),
    ],
)
def test_functions_of_the_test_that_assert_are_assertions(old: str, new: str) -> None:
    helped = DRAFT.model_copy(update={"test": HELPED})
    assert complaint(helped, helped) is None
    assert complaint(helped, changed((old, new), draft=helped)) is not None
    assert complaint(helped, changed((", 0.0)\n", ", -0.125)\n"), draft=helped)) is None


def test_a_broken_test_may_be_repaired_but_keeps_its_assertions() -> None:
    broken = changed((ZERO, "assert discrepancy(x, x ==="))
    assert complaint(broken, DRAFT) is None
    assert complaint(broken, changed((f"    {ZERO}\n", ""), (f"    {SHAPE}\n", ""), (f"    {BOTH}\n", ""))) is not None


def test_a_broken_implementation_may_be_repaired() -> None:
    assert complaint(changed((RETURN, "return (within - 2 * across")), DRAFT) is None


def test_what_was_there_before_is_no_fault_of_the_repair() -> None:
    sloppy = changed(
        (f"    {ZERO}\n", f"    try:\n        {ZERO}\n    except Exception:\n        pass\n"),
        ("import numpy as np\nfrom implementation", "import warnings\nimport numpy as np\nfrom implementation"),
        ("def check_smoothing():", "warnings.simplefilter('ignore')\n\n\ndef check_smoothing():"),
    )
    assert complaint(sloppy, changed(("dtype=np.float64", "dtype=float"), draft=sloppy)) is None


def test_foreign_logic_may_be_removed_on_request_but_no_public_result_faked() -> None:
    fat = changed(
        (
            "    across = kernel",
            "".join(f"    x = x + np.cos(x) * {i} - np.sin(y) / {i + 1}\n" for i in range(12)) + "    across = kernel",
        )
    )
    assert complaint(fat, DRAFT) is not None
    assert complaint(fat, DRAFT, may_remove=True) is None
    assert complaint(fat, changed((RETURN, "return 0.0")), may_remove=True) is not None


def test_a_function_without_counterpart_may_go_with_the_assertions_about_it_alone() -> None:
    source = "def draw(n):\n    w = np.random.multinomial(n, np.full(n, 1 / n))\n    return w\n"
    extra = "\ndef differences(refit, weights):\n    return [refit(w) - refit(np.ones(len(w))) for w in weights]\n"
    about = "assert np.sum(w) == 4\n"
    more = "d = differences(sum, [[3, 0], [1, 2]])\nassert d[0] == 1.0\n"
    test = f"import numpy as np\nfrom implementation import draw, differences\nw = draw(4)\n{about}{more}"
    before = DRAFT.model_copy(update={"implementation": f"import numpy as np\n\n{source}{extra}", "test": test})
    before = before.model_copy(update={"excerpt": source})
    less = before.model_copy(
        update={
            "implementation": before.implementation.replace(extra, ""),
            "test": test.replace(more, "").replace(", differences", ""),
        }
    )
    assert complaint(before, less, may_remove=True) is None
    assert "differences is gone" in str(complaint(before, less))
    blunt = less.model_copy(update={"test": less.test.replace(about, "assert w is not None\n")})
    assert "np.sum(w) == 4" in str(complaint(before, blunt, may_remove=True))
    # What the sources have stays, and so do the assertions that look at both.
    source_gone = before.model_copy(update={"excerpt": source + extra})
    assert "d[0] == 1.0" in str(complaint(source_gone, less, may_remove=True))
    both = before.model_copy(update={"test": test + "assert d[0] == np.sum(w) - 3\n"})
    assert "np.sum(w) - 3" in str(complaint(both, less, may_remove=True))


def test_a_function_may_shrink_to_what_the_sources_have() -> None:
    left = "    across = kernel(x, y, width).mean()\n    return within - 2 * across\n"
    own = "".join(f"    x = x + np.cos(x) * {i} - np.sin(y) / {i + 1}\n" for i in range(60))
    source = "def mmd(a, b, s, c):\n    d = kernel(a, b, s).mean()\n    return c - 2 * d\n"
    head = "def difference(x, y, width, within):\n"
    test = "from implementation import difference\nassert difference(1.0, 2.0, 3.0, 4.0) == 0.125\n"
    fat = DRAFT.model_copy(update={"implementation": head + own + left, "test": test, "excerpt": source})
    lean = fat.model_copy(update={"implementation": head + left})
    assert "lost most" in str(complaint(fat, lean))
    assert complaint(fat, lean, may_remove=True) is None
    elsewhere = fat.model_copy(update={"excerpt": "def f(a):\n    return np.log(a) ** 3\n"})
    assert "lost most" in str(complaint(elsewhere, lean, may_remove=True))


def test_what_an_untouched_assertion_expects_may_be_drawn_before() -> None:
    test = (
        "import numpy as np\nfrom implementation import kernel\nr = np.random.RandomState(1)\n"
        "k = kernel(1, 2)\nfor i in range(40):\n    x = 1.5 * r.randn(2)\n    assert np.allclose(k[i], x)\n"
    )
    before = DRAFT.model_copy(update={"test": test})
    drawn = "drawn = [1.5 * r.randn(2) for _ in range(40)]\nfor i in range(40):\n    x = drawn[i]\n"
    ahead = test.replace("for i in range(40):\n    x = 1.5 * r.randn(2)\n", drawn)
    assert complaint(before, before.model_copy(update={"test": ahead})) is None
    whole = test.replace("k[i], x", "k, x")
    summary = whole.replace("kernel(1, 2)", "kernel(1, 2).mean()").replace("1.5 * r.randn(2)", "r.randn(2).mean()")
    wide = before.model_copy(update={"test": whole})
    assert "a part or a summary" in str(complaint(wide, wide.model_copy(update={"test": summary})))


LINES = st.sampled_from(
    [
        "assert f(1) == 2",
        "assert abs(f(1) - 2.0) < 1e-6",
        "assert f(2) is not None",
        "assert isinstance(f(1), int) and f(3) > 0",
        "assert f(1) == 2 or f(2) == 3",
        "assert np.allclose(f(x), [1.0, 2.0])",
        "assert not f(x).any()",
        "for i in range(3):\n    assert f(i) == i + 1",
        "if f(1) > 0:\n    assert f(2) == 3",
        "def check(value):\n    assert value == 2",
        "check(f(1))",
        "with pytest.raises(ValueError):\n    f(None)",
        "x = f(2)",
        "assert x == 3",
        "try:\n    f(0)\nexcept ValueError:\n    pass",
        "return_value = [f(i) for i in range(4)]",
        "assert return_value == [1, 2, 3, 4]",
        "assert f(1) == f(1)",
        "assert True",
    ]
)


def draft(lines: list[str]) -> Draft:
    return DRAFT.model_copy(update={"implementation": "def f(x):\n    return x + 1\n", "test": "\n".join(lines) + "\n"})


@settings(max_examples=50)
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
