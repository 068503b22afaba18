from tests.agents.ablation.space.spaces import reasons_of, space_of, values_of

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
    space = space_of(STEPS, "error ([0-9.]+):min")
    assert values_of(space) == {
        "scale(x)": ["identity"],
        "Model(decay)": ["0.005", "0.02", "0.0"],
        "Model(momentum)": ["0.45", "0.95", "0.0"],
        "Model(rate)": ["0.05", "0.2"],  # without this rate, the model would not learn
    }
    reasons = reasons_of(space)
    assert reasons["noise"] == "the task that the method is tested on"  # the labels are computed from the noise
    assert reasons["rounds"] == "the length of training"
    assert reasons["width"] == "the size of something"
    assert {reasons[name] for name in ("patience", "margin")} == {"the metric is not computed from it"}
