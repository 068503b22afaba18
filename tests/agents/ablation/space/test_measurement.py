import pytest

from xkg.agents.ablation.space.measurement import changed_sources, changed_values, leaked
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.workspace.program.metric import Metric

METRIC = Metric.parse(r"average: ([-\d.]+):max")
CODE = """
class Arms:
    def get_reward(self, arm):
        return arm / 2

    def noise(self):
        return 1

def choose(values):
    return max(range(3), key=values.__getitem__)

def learn(values, arm, reward):
    values[arm] = values[arm] + 0.1 * (reward - values[arm])
    return values

def play(rounds):
    arms, values, total = Arms(), [0, 0, 0], 0.0
    for _ in range(rounds):
        arm = choose(values)
        reward = arms.get_reward(arm)
        values = learn(values, arm, reward)
        total += reward
    print(f"average: {SHOWN}")

play(9)
"""


@pytest.mark.parametrize("shown", ["total / rounds", "round(total, 3)", "mean_of(total)"])
@pytest.mark.parametrize(
    ("old", "new", "differs"),
    [
        ("return arm / 2", "return -0.1 * arm / 2", "a.py::Arms.get_reward"),
        ("total += reward", "total += abs(reward)", "a.py::play"),
        ("0.1 * (reward", "0.2 * (reward", None),
        ("max(range(3)", "min(range(3)", None),
        ("return 1", "return 2", None),
        ("values = learn", "reward = reward\n        values = learn", None),
    ],
)
def test_what_a_printed_value_is_computed_from(shown: str, old: str, new: str, differs: str | None) -> None:
    code = CODE.replace("SHOWN", shown)
    before, after = PythonSource("a.py", code), PythonSource("a.py", code.replace(old, new))
    assert changed_values([before], [after], METRIC) == ((differs,) if differs else ())


def test_the_state_that_training_returns_is_the_methods_own() -> None:
    code = (
        "def train():\n    x = 1.0\n    for _ in range(3):\n        x = x - {} * x\n    return x\n"
        "x = train()\nprint('average:', x)\n"
    )
    before, after = (PythonSource("a.py", code.format(rate)) for rate in (0.1, 0.2))
    assert changed_values([before], [after], METRIC) == ()
    best = PythonSource("a.py", before.text.replace("return x", "return min(x, 0)"))
    assert changed_values([before], [best], METRIC) == ("a.py::train",)


def test_a_printed_value_that_is_updated_after_training_is_followed() -> None:
    better = CODE.replace("    print(", "    total = max(total, 1)\n    print(").replace("SHOWN", "total / rounds")
    before, after = PythonSource("a.py", CODE.replace("SHOWN", "total / rounds")), PythonSource("a.py", better)
    assert changed_values([before], [after], METRIC) == ("a.py::play",)


ERROR = Metric.parse(r"error: ([-\d.]+):min")
SIMULATED = """
def simulate(count):
    return list(range(count)), [2 * n for n in range(count)]

def fit(x, y):
    return sum(y) / sum(x)

def mean_error(truth, guesses):
    return sum(abs(a - b) for a, b in zip(truth, guesses)) / len(truth)

def main():
    x, y = simulate(9)
    new_x, new_y = simulate(5)
    slope = fit(x, y)
    error = mean_error(new_y, [slope * each for each in new_x])
    print(f"largest: {max(new_y)}")
    print(f"error: {error}")

class Filter:
    def guess(self, seen):
        return seen

def follow(track):
    total, own = 0.0, Filter()
    for _ in range(9):
        guess = own.guess(track.seen)
        total += abs(guess - track.true)
        track.move()
    print(f"error: {total}")
"""


@pytest.mark.parametrize(
    ("old", "new", "read"),
    [
        ("slope = fit(x, y)", "slope = fit(x + new_x, y + new_y)", {"a.py::main": ("new_x", "new_y")}),
        ("own.guess(track.seen)", "own.guess(track.true)", {"a.py::follow": ("track.true",)}),
        ("    track.move()", "    own.near = track.true\n        track.move()", {"a.py::follow": ("track.true",)}),
        (
            "slope = fit(x, y)",
            "slope = min([1.0, 2.0], key=lambda s: mean_error(new_y, [s * each for each in new_x]))",
            {"a.py::main": ("new_x", "new_y")},
        ),
        ("slope = fit(x, y)", "slope = fit(x, y)\n    slope = 0.5 * slope", {}),
        ("own.guess(track.seen)", "0.5 * own.guess(track.seen)", {}),
        ("return sum(y) / sum(x)", "return max(y) / max(x)", {}),
    ],
)
def test_what_only_the_measurement_read(old: str, new: str, read: dict[str, tuple[str, ...]]) -> None:
    assert old in SIMULATED
    before, after = PythonSource("a.py", SIMULATED), PythonSource("a.py", SIMULATED.replace(old, new))
    assert leaked([before], [after], ERROR) == read


@pytest.mark.parametrize(
    ("new", "read"),
    [("goal.mean", {"a.py::fit": ("goal.mean",)}), ("goal.near", {}), ("goal.score(x) * goal.score.__name__", {})],
)
def test_an_attribute_that_only_the_measurement_reads(new: str, read: dict[str, tuple[str, ...]]) -> None:
    code = """
class Goal:
    def __init__(self, mean):
        self.mean, self.near = mean, 0

    def score(self, x):
        self.near = x
        return self.mean - x

def fit(goal):
    x = 0.5 * goal.score(0)
    return x

def distance(goal, x):
    return abs(goal.mean - x) + goal.near

goal = Goal(3)
print(f"R2: {distance(goal, fit(goal))}")
"""
    before, after = PythonSource("a.py", code), PythonSource("a.py", code.replace("0.5 * goal.score(0)", new))
    assert leaked([before], [after], Metric.parse(r"R2: ([-\d.]+):min")) == read


@pytest.mark.parametrize(
    ("old", "new", "differing"),
    [("2 * n for", "0 * n for", ("a.py::simulate",)), ("sum(y) / sum(x)", "max(y) / max(x)", ())],
)
def test_what_makes_the_data_of_the_test(old: str, new: str, differing: tuple[str, ...]) -> None:
    before, after = PythonSource("a.py", SIMULATED), PythonSource("a.py", SIMULATED.replace(old, new))
    assert changed_sources([before], [after], ERROR) == differing
