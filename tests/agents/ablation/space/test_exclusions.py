import pytest

from tests.agents.ablation.space.spaces import ERROR, candidates_of, reasons_of, space_in, space_of
from xkg.agents.ablation.space.exclusions import surely_measures

SHARED = """\
def width(x):
    return 2.0 * x


def discrepancy(x):
    return width(x) - 1.0


def step(x):
    return x - 0.1 * width(x)


def evaluate_all(x):
    return x * 0.5


def train_and_test(x):
    return x * 0.25


print(f"discrepancy {discrepancy(step(3.0))}", evaluate_all(1.0), train_and_test(2.0))
"""


def test_code_that_measures_is_left_out_and_what_it_calls_is_named() -> None:
    space, protected, shared = space_in(SHARED, "discrepancy ([0-9.]+):min")
    assert {place.symbol for place in protected} >= {"discrepancy", "evaluate_all"}
    assert {place.symbol for place in shared} == {"width"}
    changed = {place.symbol for candidate in space.candidates for place in candidate.places}
    assert changed.isdisjoint({"discrepancy", "evaluate_all"})
    assert surely_measures("a.py::validate")
    assert not any(surely_measures(f"a.py::{name}") for name in ("Net.test_step", "train_and_test"))


EPOCHS = """\
import math
import model

train_data = {"good": True, "happy": True}
settings = {"rate": 0.5, "maxepoch": 3}


def one_epoch(data, learn=True):
    loss = 0.0
    right = 0
    scale = 1.0
    for text, label in data.items():
        scale *= len(text)
        out = model.forward(text)
        loss -= math.log(out)
        right += int(out > scale)
        if learn:
            model.backward(label)
    return loss / len(data), right / len(data)


def energy(x):
    total = 0.0
    total += x * x
    return total


def fit(data):
    cost = 0.0
    cost += energy(data)
    cost.backward()
    return cost


def passed_on(x):
    total = 0.0
    total += x
    return total


model.minimize(passed_on)
for _ in range(3):
    loss, right = one_epoch(train_data)
    fitted = fit(right)
    given = passed_on(right)
print(f"Test:\\tLoss {loss} {fitted} {given}")
"""


def test_what_is_reported_alone_is_the_metrics_code() -> None:
    _, protected, _ = space_in(EPOCHS, r"Test:\tLoss ([0-9.]+):min")
    lines = EPOCHS.split("\n")
    kept_from_change = {lines[place.start_line - 1].strip() for place in protected}
    assert kept_from_change >= {"loss = 0.0", "loss -= math.log(out)"}
    # Values used for training, passed to an optimizer or read by other code belong to the method.
    assert kept_from_change.isdisjoint(
        {"right += int(out > scale)", "cost += energy(data)", "total += x", "scale *= len(text)"}
    )


BESIDE = """\
import random
from pathlib import Path

import matplotlib.pyplot as plt

from own import Fit

fig, axes = plt.subplots(2)
for ax in axes.flat:
    ax.bar([1], [2], capsize=0.5)
Path("out").mkdir(parents=True)
reach = 0.5
drift = 0.25
name = "x"
name = "{}-{}".format(name, 1)


class Env:
    def __init__(self, reach):
        self.reach = reach


env = Env(reach=reach)


def slope(x, derivative=False):
    return x if derivative else 2 * x


def step(x):
    return slope(x, derivative=True) + slope(x)


Fit(step(1), drift, epsilon=0.3, n_trials=8, input_size=4, max_features=6, train_len=5)
"""


def test_what_draws_makes_data_repeats_or_sizes_is_no_component() -> None:
    space = space_of(BESIDE)
    assert {c.name for c in space.components} == {"drift", "Fit(epsilon)"}  # guards with small numbers are excluded
    assert reasons_of(space)["reach"] == "the task that the method is tested on"


def test_plots_are_no_components() -> None:
    text = "import matplotlib.pyplot as plt\ndef main(x):\n    plt.scatter(x, x, s=10)\n"
    text += "    msg += ', loss %s' % x\n    Fit(x, rate=0.5)\n"
    assert [c.name for c in space_of(text).components] == ["Fit(rate)"]


TRAIN_AND_MEASURE = """\
def train(rate=0.3):
    return rate * 5.0


def evaluate(model):
    print("error:", model - 1.0)


if __name__ == "__main__":
    evaluate(train(rate=0.5))
"""


@pytest.mark.parametrize("path", ["a.py", "test_a.py"])
def test_what_main_trains_reaches_a_metric_that_a_function_prints(path: str) -> None:
    found = candidates_of(TRAIN_AND_MEASURE, f"python {path}", path=path)
    assert found >= {"train(rate): 0.5 → 0.25", "train(rate): 0.5 → 0.75"}


def test_a_test_that_the_command_does_not_start_measures() -> None:
    assert candidates_of(TRAIN_AND_MEASURE, "python run.py", path="test_a.py") == set()


TWICE = """\
import sys

import numpy as np

FIRST_RATE = 0.1
RATE = 0.2


def fit(x, rate):
    w = 0.0
    for each in x:
        w -= rate * (w - each)
    return w


x = np.random.rand(20)
print("MSE:", np.mean((x - fit(x, FIRST_RATE)) ** 2))
print("MSE:", np.mean((x - fit(x, RATE)) ** 2))
"""


@pytest.mark.parametrize("pattern", ["MSE: ([0-9.]+):min", "([0-9.]+):min"])
def test_only_the_statement_that_printed_the_metric_counts(pattern: str) -> None:
    end = len(TWICE.splitlines())
    space, protected, _ = space_in(TWICE, pattern, printed=("train.py", end))
    assert {c.name for c in space.components} == {"RATE"}
    assert reasons_of(space)["FIRST_RATE"] == "the metric is not computed from it"
    assert end in {place.start_line for place in protected}


SOUGHT = """\
import numpy as np

STEP = 0.3


class Data:
    def __init__(self):
        self.x, self.y = np.random.rand(90), np.random.rand(90)

    def divided(self, share=0.4):
        most = int(share * 90)
        return self.x[most:], self.y[most:], self.x[:most], self.y[:most]


def bowl(x):
    depth = 0.5
    return depth * np.sum(x**2)


def climb(goal, x):
    for _ in range(9):
        new = x - STEP * np.random.rand(3)
        x = new if goal(new) < goal(x) else x
    return x


x, y, test_x, test_y = Data().divided(share=0.3)
weight = climb(bowl, np.mean(x * y))
wrong = np.mean(test_x * weight != test_y)
print("error:", wrong)
"""


def test_the_objective_of_a_search_and_the_share_of_a_split_of_its_own_are_no_components() -> None:
    space = space_of(SOUGHT, ERROR)
    assert {c.name for c in space.components} == {"STEP"}
    assert reasons_of(space)["depth"] == "the task that the method is tested on"
