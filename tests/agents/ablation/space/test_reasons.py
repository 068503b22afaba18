from tests.agents.ablation.space.spaces import ERROR, TRAIN, of, reasons_of, space_of


def test_what_the_baseline_does_not_run_is_left_out() -> None:
    lines = TRAIN.split("\n")
    first = lines.index("def unused(x):") + 1
    executed = {"train.py": frozenset(set(range(1, len(lines))) - {first + 1, first + 2})}
    space = space_of(executed=executed)
    assert not of(space, "clip(x) in unused")
    assert of(space, "clip(x) in objective")
    assert any(left.reason == "the baseline does not run it" for left in space.left_out)


LENGTHS = """\
def bandit(k, n_steps=5):
    for _ in range(n_steps):
        k = k * 0.5
    return k


def descent(k, n_iterations=5, n_rounds=5):
    for _ in range(n_iterations * n_rounds):
        k = k * 0.5
    return k


print("error:", descent(8.0, n_iterations=3))
"""


def test_only_a_length_that_the_baseline_uses_counts_as_a_length() -> None:
    reasons = reasons_of(space_of(LENGTHS, ERROR, executed={"train.py": frozenset({1, 7, 8, 9, 10, 13})}))
    assert reasons["n_steps"] == "the baseline does not run it"
    assert reasons["n_iterations"] == "every call that ran sets it"
    assert reasons["n_rounds"] == "the length of training"


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
    space = space_of(RANGES, "score: ([0-9.]+):max")
    assert {"ALPHA", "k"} < {c.name for c in space.components}
    assert [one.value for one in of(space, "Net(activation)")] == ["'tanh'"]
    reasons = reasons_of(space)
    assert reasons["LOWER"] == reasons["UPPER"] == "a bound on the values that are tried"
    assert reasons["WEIGHT"] == "it computes the metric"
