import pytest

from xkg.build.guided.coding.draft_check import implementation_faults, script_faults

GOOD = """
import math

class Decay:
    def __init__(self, rate=0.5):
        self.rate = rate

    def at(self, step):
        return math.exp(-self.rate * step)
"""
TEST = """
import numpy as np
from implementation import Decay

for step in (0.3, 2.5):
    assert abs(Decay().at(step) - np.exp(-0.5 * step)) < 1e-9
"""


def faults_of(test: str) -> str:
    found = [*implementation_faults(GOOD, ["numpy", "torch"])]
    return "\n".join([*found, *script_faults(test, GOOD, ["numpy", "torch"])])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(:\n    return 1\n", "does not parse"),
        ("def f(x):\n    return y\n", "undefined: y"),
        ("from .other import g\n\ndef f(x):\n    return g(x)\n", "relative import of .other"),
        (
            "import svgd\n\ndef f(x):\n    return svgd.f(x)\n",
            "svgd, which is not allowed (allowed packages: numpy, torch)",
        ),
        ("def f(x):\n    return open(x).read()\n", "it calls open (line 2)"),
        ("import torch\n\ndef f(x):\n    return torch.load(x)\n", "it calls torch.load"),
        ("import torch\n\ndef f(x):\n    return x.from_pretrained('a')\n", "it calls x.from_pretrained"),
        ("RATE = 3\n", "no public function or class"),
        ("def f(x):\n    return x + 1\n\ndef g(x):\n    raise NotImplementedError\n", "g has no working body"),
    ],
)
def test_faults_of_an_implementation_are_reported(source: str, words: str) -> None:
    assert words in "\n".join(implementation_faults(source, ["numpy", "torch"]))


@pytest.mark.parametrize(
    "source",
    [
        "def open(x):\n    return x + 1\n\ndef f(x):\n    return open(x)\n",
        "class Base:\n    def f(self):\n        raise NotImplementedError\n\n"
        "class A(Base):\n    def f(self):\n        return 1 + 1\n",
        "from abc import ABC, abstractmethod\n\n"
        "class A(ABC):\n    @abstractmethod\n    def f(self): ...\n    def g(self):\n        return 2 + 1\n",
    ],
)
def test_what_only_looks_wrong_is_let_through(source: str) -> None:
    assert not [*implementation_faults(source, ["numpy", "torch"])]


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("from implementation import (", "does not parse"),
        ("assert Decay().at(1) == 1", "undefined: Decay; import the code under test from implementation"),
        ("assert 1 + 1 == 2", "imports nothing from implementation"),
        ("from implementation import Decay\n\nDecay().at(1)", "asserts nothing"),
        ("from implementation import Decay, Rise\n\nassert Decay().at(1) < Rise", "does not define Rise"),
        (
            "from implementation import Decay\n\ntry:\n    assert Decay().at(1) < 1\nexcept Exception:\n    pass",
            "catches exceptions",
        ),
        ("import pytest\nfrom implementation import Decay\n\nassert Decay().at(1) == pytest", "imports pytest"),
        (
            "from unittest.mock import Mock\nfrom implementation import Decay\n\nassert Decay().at(1) < Mock()",
            "imports unittest",
        ),
    ],
)
def test_faults_of_a_test_are_reported(test: str, words: str) -> None:
    assert words in faults_of(test)


@pytest.mark.parametrize(
    "test",
    [
        TEST,
        "import numpy as np\nfrom implementation import Decay\n\nnp.testing.assert_allclose(Decay().at(0), 1)",
        "from implementation import Decay\n\ndef test_a():\n    assert Decay().at(1) < 1\n\n"
        "for name, f in list(globals().items()):\n    if name.startswith('test_'):\n        f()",
    ],
)
def test_other_ways_to_write_a_test_are_fine(test: str) -> None:
    assert faults_of(test) == ""
