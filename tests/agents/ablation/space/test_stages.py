import pytest

from tests.agents.ablation.space.spaces import candidates_of, changed_text, of, space_of
from xkg.agents.ablation.space.forms import own_steps
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.stages import Site, sites

FUNCTIONS = """\
import numpy as np


def act(z):
    return 1 / (1 + np.exp(-z))


def slope(z):
    s = act(normal(z))
    return s * (1 - s)


def normal(x):
    x = x - np.mean(x)
    return x / np.std(x)


def both(train, test):
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    return (train - mean) / deviation, (test - mean) / deviation


def shares(z):
    parts = np.exp(z - np.max(z))
    total = np.sum(parts)
    return parts / total


def train(net):
    net[0] = np.random.rand()
    return net


def mutate(genes, rate):
    for i in range(len(genes)):
        if np.random.rand() < rate:
            genes[i] = 1 - genes[i]
    return genes


def cross(one, other):
    one[2:], other[2:] = other[2:], one[2:]
    return one.copy(), other.copy()


def cooler(rate, step):
    return max(0.01, rate * 0.9**step)


def one_hot(x):
    found = np.zeros((len(x), 10))
    return found


class Net:
    def zero(self):
        self.state = np.zeros(3)

    def fly(self):
        self.state = self.state + np.random.randn()


def index(place, size):
    return place[0] * size + place[1]


"""


def found(code: str) -> list[Site]:
    source = PythonSource("a.py", FUNCTIONS + code)
    first = FUNCTIONS.count("\n") + 1
    return [site for site in sites(source, own_steps([source])) if site.place.start_line >= first]


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("a1 = normal(w @ x)", "(w @ x)"),
        ("y = np.dot(normal(z), w)", "z"),
        ("x = normal(x)", "x"),
        ("a, b = both(one, other)", "(one, other)"),
        ("genes = mutate(genes, 0.1)", "genes"),
        ("rows[0], rows[1] = cross(rows[2], rows[3])", "(rows[2], rows[3])"),
        ("for t in range(9):\n    heat = cooler(heat, t)", "heat"),
        ("low, high = x.min(), x.max()\ny = (x - low) / (high - low) - 0.5", "x"),
        ("random.shuffle(rows)", "pass"),
        ("for t in range(9):\n    genes = [*genes, t]\n    genes = mutate(genes, 0.1)", "genes"),
    ],
)
def test_a_stage_is_left_out(code: str, after: str) -> None:
    [new] = {change.replacements[0].new for site in found(code) for change in site.changes}
    assert new == after


@pytest.mark.parametrize(
    "code",
    [
        "a1 = act(w @ x)",  # these calls are parts of a formula
        "grad = error * normal(z)",
        "x = np.clip(x, low, high)",
        "z = w @ x + normal(y)",
        "p = shares(z)",  # without the call, the values are not a distribution
        "net = train(net)",  # without the call, there is no method
        "y = one_hot(y)",
        "place = index(place, 4)",
        "x = np.act(x, [2, 3])",
        "for t in range(9):\n    x = normal(x)",  # only this call changes x
        "loss = (x - y) / n",
        "for t in range(9):\n    genes = [*genes, t]\n    worth = f(genes)\n    genes = mutate(genes, worth)",
        "for t in range(9):\n    net.zero()\n    net.fly()\n    net.state = net.state + 1",
    ],
)
def test_what_a_method_cannot_do_without_stays(code: str) -> None:
    assert not [site for site in found(code) if "fly" not in site.text]


def test_the_inside_of_a_formula_stays() -> None:
    source = PythonSource("a.py", FUNCTIONS)
    assert not [site for site in sites(source, own_steps([source])) if site.text in ("act(z)", "normal(z)")]


def test_calls_that_can_be_the_identity_and_functions_of_the_same_signature() -> None:
    space = space_of()
    [identity, *_] = of(space, "clip(x) in objective")
    assert "    x = x\n    fit" in changed_text(identity)
    [other] = [one for one in space.candidates if one.kind == "replace" and one.value == "linear"]
    assert "kernel = linear(x, 2.0)" in changed_text(other)


SEARCH = """\
import random


class Bats:
    def __init__(self, spread=0.9):
        self.at = [random.random() for _ in range(9)]
        self.best, self.seen, self.spread = 1.0, 0, spread

    def fly(self):
        for i in range(9):
            self.at[i] += random.gauss(0, 1)

    def near(self):
        self.at[0] = self.best * self.spread

    def count(self):
        self.seen += 1

    def note(self):
        self.seen += 2

    def accept(self):
        self.best = min(self.best, *map(abs, self.at))


bats = Bats()
for _ in range(20):
    bats.fly()
    bats.near()
    bats.count()
    bats.note()
    bats.accept()
print("error:", bats.best)
"""


def test_a_stage_that_takes_no_arguments_is_tried_if_the_metric_depends_on_what_it_changes() -> None:
    found = candidates_of(SEARCH)
    assert {"the stage bats.fly() → off", "the stage bats.near() → off"} <= found
    assert not {"the stage bats.count() → off", "the stage bats.note() → off"} & found
