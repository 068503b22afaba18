from typing import Any

import pytest

from xkg.agents.ablation.candidates import COMMAND, Candidate, Component, Place, Space
from xkg.agents.ablation.mutation import apply, refusal
from xkg.agents.ablation.space.exclusions import surely_measures
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.space import find_space
from xkg.agents.ablation.task import parse_metric
from xkg.build.code.settings import Setting

TRAIN = """\
import argparse
import json
from dataclasses import dataclass

import numpy as np

MOMENTUM = 0.9


@dataclass
class Config:
    dropout: float = 0.2
    use_norm: bool = True
    seed: int = 0


def rbf(x, h):
    return np.exp(-(x**2) / h)


def linear(x, h):
    return x / h


def clip(x):
    return np.clip(x, -x.std(), x.std())


def objective(model, x, args):
    x = clip(x)
    fit = np.mean((x - model) ** 2)
    smooth = np.abs(model).sum()
    kernel = rbf(x, 2.0)
    loss = fit + args.beta * smooth + kernel.mean()
    return loss


def evaluate(model, x):
    error = x - model + 0.5 * x
    return float(np.mean(error**2))


def unused(x):
    x = clip(x)
    return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--beta", type=float, default=0.3)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--kernel", choices=["rbf", "linear"], default="rbf")
    parser.add_argument("--no-decay", action="store_true")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--log-dir", default="logs")
    args = parser.parse_args()
    config = Config()
    model = objective(0.0, np.ones(3), args)
    if args.kernel == "rbf" and not args.no_decay:
        model = model * MOMENTUM
    if config.use_norm:
        model = model + args.lr * config.dropout
    unseen = args.epochs, args.log_dir
    result = evaluate(model, np.ones(3))
    with open("out.json", "w") as file:
        json.dump({"test_mse": result}, file)


main()
"""


METRIC = parse_metric("out.json:test_mse:min")


def space_of(text: str = TRAIN, **more: object) -> tuple[Space, list[Place]]:
    return find_space([PythonSource("train.py", text)], [], {"train.py": text}, METRIC, **more)[:2]  # type: ignore[arg-type]


def space_in(text: str, pattern: str, **more: Any) -> tuple[Space, list[Place], list[Place]]:
    """Returns the search space of a one-file repository whose output contains the metric."""
    return find_space([PythonSource("a.py", text)], [], {"a.py": text}, parse_metric(pattern), **more)


def of(space: Space, name: str) -> list[Candidate]:
    return [k for c in space.components if c.name == name for k in space.of(c.id)]


def test_every_candidate_applies_parses_and_stays_in_its_place() -> None:
    space, protected = space_of()
    assert len(space.candidates) > 12
    for one in space.candidates:
        before = {"train.py": TRAIN}
        assert refusal(one, before, apply(one.replacements, before), protected) is None
    assert len({one.id for one in space.candidates}) == len(space.candidates)


def test_options_fields_and_constants_are_switches() -> None:
    space, _ = space_of()
    assert [one.value for one in of(space, "lr")] == ["0.005", "0.02"]
    assert [(one.kind, one.value) for one in of(space, "Config(use_norm)")][:1] == [("toggle", "False")]
    assert [(one.kind, one.value) for one in of(space, "kernel")][-1:] == [("replace", '"linear"')]
    assert [one.value for one in of(space, "MOMENTUM")] == ["0.45", "0.95"]
    [no_decay] = of(space, "no-decay")
    assert 'action="store_true", default=True' in apply(no_decay.replacements, {"train.py": TRAIN})["train.py"]


def test_calls_that_can_be_the_identity_and_functions_of_the_same_signature() -> None:
    space, _ = space_of()
    [identity, *_] = of(space, "clip(x) in objective")
    assert "    x = x\n    fit" in apply(identity.replacements, {"train.py": TRAIN})["train.py"]
    [other] = [one for one in space.candidates if one.kind == "replace" and one.value == "linear"]
    assert "kernel = linear(x, 2.0)" in apply(other.replacements, {"train.py": TRAIN})["train.py"]


def test_what_the_baseline_does_not_run_is_left_out() -> None:
    lines = TRAIN.split("\n")
    first = lines.index("def unused(x):") + 1
    executed = {"train.py": frozenset(set(range(1, len(lines))) - {first + 1, first + 2})}
    space, _ = space_of(executed=executed)
    assert not of(space, "clip(x) in unused")
    assert of(space, "clip(x) in objective")
    assert any(left.reason == "the baseline does not run it" for left in space.left_out)


def test_a_technique_takes_what_lies_in_its_lines_and_one_without_a_place_is_named() -> None:
    at = TRAIN[: TRAIN.index("    kernel = rbf")].count("\n") + 1
    place = Place(path="train.py", start_line=at, end_line=at)
    techniques = [
        Component(id="p#kernel", name="Kernel", technique="p#kernel", places=(place,), weight=0.9),
        Component(id="p#lost", name="Lost", technique="p#lost", places=()),
    ]
    space, _ = space_of(techniques=techniques)
    assert space.components[0].technique == "p#kernel"
    assert all(one.places[0].start_line == at for one in space.of("p#kernel"))
    assert {left.name: left.reason for left in space.left_out}["Lost"] == "no place in the code"


def test_equal_parts_are_left_out_together() -> None:
    text = "def build(m):\n    m.add(Drop(0.5))\n    m.add(Dense(3))\n    m.add(Drop(0.5))\n    return m\n"
    space, _ = space_of(text)
    [both] = of(space, "Drop(0.5) in build")
    after = apply(both.replacements, {"train.py": text})["train.py"]
    assert after == "def build(m):\n    pass\n    m.add(Dense(3))\n    pass\n    return m\n"


def test_entries_of_configuration_files() -> None:
    text = "model:\n  dropout: 0.1\n  norm: true\n  depth: 4\ntrain:\n  epochs: 9\n"
    settings = [
        Setting(path="c.yaml", line=n, name=name, value=value)
        for n, name, value in (
            (2, "model.dropout", "0.1"), (3, "model.norm", "true"), (4, "model.depth", "4"), (6, "train.epochs", "9")
        )
    ]  # fmt: skip
    space, *_ = find_space([], settings, {"c.yaml": text}, METRIC)
    assert {c.name for c in space.components} == {"model.dropout", "model.norm", "model.depth"}
    [norm] = of(space, "model.norm")
    assert apply(norm.replacements, {"c.yaml": text})["c.yaml"] == text.replace("true", "false")


@pytest.mark.parametrize(
    "text", ["def f(:\n", "x = " + "(" * 5000 + ")" * 5000, "\0", "x = 1\n" * 10 + "\u2028é = 2\n"]
)
def test_sources_that_are_no_python_are_refused_and_never_crash(text: str) -> None:
    try:
        source = PythonSource("a.py", text)
    except SyntaxError:
        return
    find_space([source], [], {"a.py": text}, METRIC)


def test_offsets_count_characters_whatever_the_line_ends() -> None:
    text = 'NAME = "é€"\r\nRATE = 0.5  # ü\r\n'
    space, _ = space_of(text)
    [off, *_] = of(space, "RATE")
    assert apply(off.replacements, {"train.py": text})["train.py"] == 'NAME = "é€"\r\nRATE = 0.0  # ü\r\n'


def test_plots_are_no_components() -> None:
    lines = ["import matplotlib.pyplot as plt", "def main(x):"]
    lines += ["    plt.scatter(x, x, s=10)", "    msg += ', loss %s' % x"]
    text = "\n".join([*lines, "    Fit(x, rate=0.5)", ""])
    space, _ = space_of(text)
    assert [c.name for c in space.components] == ["Fit(rate)"]


def test_entries_of_a_dictionary_are_switches() -> None:
    space, _ = space_of("settings = {'decay': 0.5, 'learning rate': 0.1, 'layers': [3, 1], 'seed': 4}\n")
    assert {c.name: [one.value for one in space.of(c.id)] for c in space.components} == {
        "decay": ["0.0", "0.25", "0.75"],
        "learning rate": ["0.05", "0.2"],
    }


def test_a_default_that_every_call_sets_is_no_candidate_and_else_one_component_with_the_calls() -> None:
    text = "class Net:\n    def __init__(self, rate=0.5):\n        self.rate = rate\n\n\nnet = Net(rate=0.25)\n"
    space, _ = space_of(text)
    [net] = space.components
    assert (net.name, [place.start_line for place in net.places]) == ("Net(rate)", [6])  # the default is not used
    maybe, _ = space_of(text + "made = [Net(), Net]\n")
    [net] = maybe.components
    assert [place.start_line for place in net.places] == [2, 6]


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
    assert [surely_measures(f"a.py::{name}") for name in ("Net.test_step", "validate", "train_and_test")] == [
        False,
        True,
        False,
    ]


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


STEPS = """\
import matplotlib.pyplot as plt
import numpy as np


def scale(x):
    return x / np.abs(x).max()


def penalty(w):
    return np.abs(w)


class Model:
    def __init__(self, rate=0.1, decay=0.01, momentum=0.9, rounds=50, width=8, patience=0.5):
        self.rate, self.decay, self.momentum, self.patience = rate, decay, momentum, patience
        self.rounds, self.w, self.v = rounds, np.zeros(width), 0.0
        self.costs = []

    def cost(self, x, y):
        return np.mean((x @ self.w - y) ** 2) + self.decay * penalty(self.w)

    def fit(self, x, y):
        for _ in range(self.rounds):
            gradient = x.T @ (x @ self.w - y) + self.decay * np.sign(self.w)
            self.v = self.momentum * self.v - self.rate * gradient
            self.w += self.v
            self.costs.append(self.cost(x, y))


def make(noise=0.3):
    x = np.random.randn(90, 8)
    return x, x @ np.ones(8) + noise * np.random.randn(90)


x, y = make()
x = scale(x)
model = Model()
model.fit(x, y)
error = np.mean((x @ model.w - y) ** 2)
print(f"error {error}")
margin = 0.25
plt.plot(np.arange(-margin, margin, 0.1), model.costs)
"""


def test_only_what_the_metric_is_computed_from_is_tried_steps_before_numbers() -> None:
    space, _, _ = space_in(STEPS, "error ([0-9.]+):min")
    tried = {c.name: [one.value for one in space.of(c.id)] for c in space.components}
    assert tried == {
        "scale(x)": ["identity"],
        "Model(decay)": ["0.005", "0.02", "0.0"],
        "Model(momentum)": ["0.45", "0.95", "0.0"],
        "Model(rate)": ["0.05", "0.2"],  # without this rate, the model would not learn
    }
    reasons = {left.name: left.reason for left in space.left_out}
    assert reasons["noise"] == "the task that the method is tested on"  # the labels are computed from the noise
    assert reasons["rounds"] == "the length of training"
    assert reasons["width"] == "the size of something"
    assert {reasons[name] for name in ("patience", "margin")} == {"the metric is not computed from it"}


CHANCES = """\
import random


def act(epsilon=0.2, tolerance=0.3, depth=5, share=0.4):
    draw = random.random()
    if draw < epsilon:
        return draw
    if depth > abs(draw) > tolerance:
        return 0.0
    return 0.1 * (1 - share * 0.5)


class Tree:
    def __init__(self, depth=6):
        self.depth = depth

    def value(self):
        return act() if self.depth > 4 else 0.5


print("score", Tree().value())
"""


def test_a_chance_can_be_0_a_bound_is_no_component_and_depth_is() -> None:
    space, _, _ = space_in(CHANCES, "score ([0-9.]+):max")
    tried = {c.name: [one.value for one in space.of(c.id)] for c in space.components}
    assert tried.pop("act(epsilon)") == ["0.0", "0.1", "0.4"]
    assert tried == {"act(share)": ["0.0", "0.2", "0.8"], "Tree(depth)": ["3", "12"]}


ENTRIES = """\
import random


def settings():
    chosen = {"show": "yes"}
    chosen["mutation operator"] = "swap"
    chosen["step size"] = 0.2
    chosen["lowest"] = 9.0
    return chosen


def search(chosen):
    if chosen["mutation operator"] == "swap":
        def mutate(x):
            return -x
    elif chosen["mutation operator"] == "shift":
        def mutate(x):
            return x + chosen["step size"]

    x = random.random()
    for _ in range(9):
        x = mutate(x)
        chosen["lowest"] = min(chosen["lowest"], x)
    print("error:", chosen["lowest"])


search(settings())
"""


def test_entries_that_a_statement_assigns_are_settings_and_other_texts_select_other_functions() -> None:
    assert candidates_of(ENTRIES) == {
        "mutation operator: \"swap\" → 'shift'",
        *(f"step size: 0.2 → {value}" for value in ("0.1", "0.4")),
    }


CLICK = """\
import click


@click.command()
@click.option("--kernel", default="rbf", type=click.Choice(["rbf", "linear"]))
@click.option("--shrink", is_flag=True, default=True, help="x")
@click.option("--rate", default=0.5, type=float)
@click.option("--epochs", default=100)
def main(kernel, shrink, rate, epochs):
    print(kernel, shrink, rate, epochs)
"""


def test_options_of_click_are_switches_by_their_names() -> None:
    space, _ = space_of(CLICK)
    assert {c.name: [one.value for one in space.of(c.id)] for c in space.components} == {
        "kernel": ['"linear"'],
        "shrink": ["False"],
        "rate": ["0.0", "0.25", "0.75"],
    }
    [given, _, _] = of(space_of(CLICK, command="python train.py --rate 0.25")[0], "rate")
    assert given.replacements[0].path == COMMAND
    # click converts defaults too, so the probe must be inserted after the conversion.
    assert all("callback=lambda *_: " in one.probe[0].new for one in of(space, "rate"))


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
    space, _ = space_of(BESIDE)
    assert {c.name for c in space.components} == {"drift", "Fit(epsilon)"}  # guards with small numbers are excluded
    reasons = {left.name: left.reason for left in space.left_out}
    assert reasons["reach"] == "the task that the method is tested on"


def test_numbers_of_the_command_that_no_code_declares_are_switches() -> None:
    space, _ = space_of("print(1)\n", command="C=10 python train.py rate=0.5 --depth 3 --seed 4 --epochs 9 -k x")
    assert {c.name: [one.value for one in space.of(c.id)] for c in space.components} == {
        "C": ["5", "20"],
        "rate": ["0.0", "0.25", "0.75"],
        "depth": ["2", "6"],
    }


def test_configuration_that_the_baseline_does_not_read_is_left_out() -> None:
    texts = {"used.json": '{\n"rate": 0.5\n}\n', "old.json": '{\n"decay": 0.5\n}\n'}
    settings = [Setting(name="rate", value="0.5", path="used.json", line=2)]
    settings.append(Setting(name="decay", value="0.5", path="old.json", line=2))
    space, _, _ = find_space([], settings, texts, parse_metric("x ([0-9.]+):max"), opened={"used.json"})
    assert [component.name for component in space.components] == ["rate"]
    assert [(left.name, left.reason) for left in space.left_out] == [("old.json", "the baseline does not read it")]


def test_values_that_reach_the_metric_through_a_file_count() -> None:
    """Two programs in one command share values through files, which the slice does not follow."""
    train = PythonSource(
        "train.py", "RATE = 0.5\nx = 8.0\nfor _ in range(9):\n    x -= RATE * x\nopen('x', 'w').write(str(x))\n"
    )
    measure = PythonSource("measure.py", "x = float(open('x').read())\nprint('error', abs(x - 1.0))\n")
    metric = parse_metric("error ([0-9.e-]+):min")
    space, _, _ = find_space([train, measure], [], {}, metric, command="sh -c 'python train.py && python measure.py'")
    assert "RATE" in [component.name for component in space.components]


def candidates_of(text: str, command: str = "python a.py", path: str = "a.py", **more: Any) -> set[str]:
    metric = parse_metric("error: ([0-9.]+):min")
    space, _, _ = find_space([PythonSource(path, text)], [], {path: text}, metric, command=command, **more)
    return {candidate.description for candidate in space.candidates}


def test_a_chance_stays_below_one_or_100_percent() -> None:
    text = "import random\n\nCHANCE = 60\nx = 0.0\nfor _ in range(9):\n    if random.randint(0, 100) < CHANCE:\n"
    text += "        x = x + random.random()\nprint('error:', x)\n"
    assert candidates_of(text) == {"CHANCE: 60 → 30", "CHANCE: 60 → 80"}


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
    found = candidates_of(TRAIN_AND_MEASURE, f"python {path}", path)
    assert found >= {"train(rate): 0.5 → 0.25", "train(rate): 0.5 → 0.75"}


def test_a_test_that_the_command_does_not_start_measures() -> None:
    assert candidates_of(TRAIN_AND_MEASURE, "python run.py", "test_a.py") == set()


OBJECTS = """
from torch import nn, optim

RATE = 0.1


class Policy(nn.Module):
    def __init__(self, share=0.5):
        self.share = share

    def forward(self, x):
        return x * self.share


class Trainer:
    def __init__(self, policy, rate=RATE):
        self.policy = policy
        self.optimizer = optim.Adam(self.policy.parameters(), lr=rate)

    def learn(self, rewards, gamma=0.9):
        total = 0.0
        for each in rewards:
            total = each + gamma * total
        total.backward()
        self.optimizer.step()


policy = Policy()
trainer = Trainer(policy)
for _ in range(9):
    rewards = [policy(1.0)]
    trainer.learn(rewards)
    print("error:", sum(rewards))
"""


def test_an_object_that_another_trains_is_the_same_object() -> None:
    assert {text.partition(":")[0] for text in candidates_of(OBJECTS)} == {
        "RATE",
        "Policy(share)",
        "learn(gamma)",
    }


SCALED = """
import joblib
from library import Scaler, load, network, split

data = load()
train_x, test_x, train_y, test_y = split(data.x, data.y)
scaler = Scaler()
train_x = scaler.fit_transform(train_x)
test_x = scaler.transform(test_x)
joblib.dump(scaler, "scaler.bin")
model = network()
history = model.fit(train_x, train_y)
error = (model.predict(test_x) - test_y).mean()
print("error:", error)
"""


def test_both_halves_of_a_scaling_are_left_out_together() -> None:
    assert candidates_of(SCALED) == {"the call scaler.fit_transform(train_x) → off, in all 2 places"}


CHOOSES = """\
import argparse
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--plain", action="store_true")
parser.add_argument("--slow", action="store_true")
args = parser.parse_args()


def laplacian(a, plain=False, reverse=False):
    d = np.diag(a.sum(axis=1))
    result = d - a if plain else np.linalg.inv(d) @ a
    if reverse:
        result = result[::-1]
    else:
        result = result + a
    return result


value = laplacian(np.ones((3, 3)), args.plain)
if args.slow:
    value = value + 1
print("accuracy", np.linalg.norm(value))
"""


def test_the_other_way_of_an_option_that_chooses_between_two_is_tried() -> None:
    space, _, _ = space_in(CHOOSES, r"accuracy ([0-9.]+):max")
    [plain] = [one for one in space.candidates if one.description == "plain: False → True"]
    assert 'action="store_true", default=True' in apply(plain.replacements, {"a.py": CHOOSES})["a.py"]
    assert not of(space, "slow")
    assert not of(space, "laplacian(reverse)")
    assert {each.reason for each in space.left_out if each.name == "slow"} == {"already off in the baseline"}


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
    space, protected, _ = space_in(TWICE, pattern, printed=("a.py", end))
    assert {c.name for c in space.components} == {"RATE"}
    assert {each.name: each.reason for each in space.left_out}["FIRST_RATE"] == "the metric is not computed from it"
    assert end in {place.start_line for place in protected}


RANGES = """\
import numpy as np

LOWER, UPPER = -5.0, 5.0
ALPHA = 0.3
WEIGHT = 0.4


class Net:
    def __init__(self, activation="relu"):
        self.ways = {"relu": np.abs, "tanh": np.tanh}
        self.activation = activation

    def forward(self, x):
        return self.ways[self.activation](x)


def search(k):
    best = np.random.uniform(LOWER, UPPER)
    net = Net()
    for _ in range(k):
        best = np.clip(best - ALPHA * net.forward(best), LOWER, UPPER)
    return best


def scale(x):
    k = 0.5
    return x * k


x = scale(search(20))
score = WEIGHT * x + 0.6 * x**2
print("score:", score)
"""


def test_bounds_and_weights_of_a_score_are_no_components_and_a_name_is_judged_in_its_scope() -> None:
    space, _, _ = space_in(RANGES, "score: ([0-9.]+):max")
    assert {"ALPHA", "k"} < {c.name for c in space.components}
    assert [one.value for one in of(space, "Net(activation)")] == ["'tanh'"]
    reasons = {each.name: each.reason for each in space.left_out}
    assert reasons["LOWER"] == reasons["UPPER"] == "a bound on the values that are tried"
    assert reasons["WEIGHT"] == "it computes the metric"


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
    space, _, _ = space_in(SOUGHT, "error: ([0-9.]+):min")
    assert {c.name for c in space.components} == {"STEP"}
    reasons = {each.name: each.reason for each in space.left_out}
    assert reasons["depth"] == "the task that the method is tested on"


def test_a_default_is_no_candidate_if_a_call_by_another_name_sets_it() -> None:
    net = "class Net:\n    def __init__(self, rate=0.5):\n        self.rate = rate\n"
    main = "from net import Net as Made\n\nnet = Made(rate=0.25)\nprint('error:', net.rate * 2.0)\n"
    files = {"net.py": net, "main.py": main}
    sources = [PythonSource(path, text) for path, text in files.items()]
    space, _, _ = find_space(sources, [], files, parse_metric("error: ([0-9.]+):min"), command="python main.py")
    assert all(candidate.places[0].path == "main.py" for candidate in space.candidates)


STAGE = """\
import random

import numpy as np


def mutate(genes, rate=0.2):
    for i in range(len(genes)):
        if random.random() < rate:
            genes[i] = random.random()
    return genes


def run():
    genes = [0.5] * 9
    for _ in range(20):
        genes = sorted(genes)
        genes = mutate(genes)
    return sum(genes)


print("error:", run())
"""


def test_the_settings_of_a_stage_are_further_candidates_of_the_stage() -> None:
    space, _, _ = space_in(STAGE, "error: ([0-9.]+):min")
    [stage] = space.components
    assert [one.value for one in space.of(stage.id)] == ["identity", "0.1", "0.4"]


OPTIMIZER = """\
import numpy as np


class Layer:
    def __init__(self):
        self.w = np.random.rand(3)

    def update(self, step=0.001):
        self.w -= step * self.slope


class Net:
    def __init__(self, layer):
        self.layers = [layer]

    def update(self, rate):
        for layer in self.layers:
            layer.update(rate)

    def error(self, x):
        self.layers[0].slope = x
        return np.abs(x @ self.layers[0].w).mean()


class Descent:
    def __init__(self, net, rate=0.01):
        self.net = net
        self.rate = rate

    def step(self, x):
        error = self.net.error(x)
        self.net.update(self.rate)
        return error


def train(net, x, rate=0.02):
    descent = Descent(net, rate)
    for _ in range(9):
        descent.step(x)


net = Net(Layer())
x = np.random.rand(3)
train(net, x, rate=0.3)
print("error:", net.error(x))
"""


def test_the_rate_of_an_optimizer_that_a_function_makes_for_its_network_is_changed_where_it_is_set() -> None:
    assert {text.partition(" → ")[0] for text in candidates_of(OPTIMIZER)} == {"train(rate): 0.3"}
