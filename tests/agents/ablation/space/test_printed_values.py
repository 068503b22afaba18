import pytest

from xkg.agents.ablation.space.measurement import changed_values
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.workspace.metric import Metric

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


def test_a_list_that_only_the_printed_value_reads_is_followed_as_a_loop_that_appends() -> None:
    code = "def once(seed):\n    return {} * seed\n"
    code += "found = [once(n) for n in range(3)]\nprint('average:', sum(found) / 3)\n"
    before, after = (PythonSource("a.py", code.format(factor)) for factor in (1, 2))
    assert changed_values([before], [after], METRIC) == ("a.py::once",)
