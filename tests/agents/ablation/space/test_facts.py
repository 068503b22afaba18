import pytest

from tests.agents.ablation.space.spaces import candidates_of, changed_text, of, space_of

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


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        pytest.param(OBJECTS, {"RATE: 0.1", "Policy(share): 0.5", "learn(gamma): 0.9"}, id="the same object"),
        pytest.param(OPTIMIZER, {"train(rate): 0.3"}, id="an optimizer that a function makes for its network"),
    ],
)
def test_settings_of_an_object_that_another_trains(text: str, settings: set[str]) -> None:
    assert {found.partition(" → ")[0] for found in candidates_of(text)} == settings


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
    space = space_of(CHOOSES, r"accuracy ([0-9.]+):max")
    [plain] = [one for one in space.candidates if one.description == "plain: False → True"]
    assert 'action="store_true", default=True' in changed_text(plain, CHOOSES)
    assert not of(space, "slow")
    assert not of(space, "laplacian(reverse)")
    assert {each.reason for each in space.left_out if each.name == "slow"} == {"already off in the baseline"}
