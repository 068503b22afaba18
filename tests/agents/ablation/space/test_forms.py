import pytest

from xkg.agents.ablation.space.forms import own_steps
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.stages import sites

CODE = """\
import numpy as np
from torch import nn
from torch.nn import functional as F


def flip(x, rate):
    return x * rate


class Layer:
    def backward(self, grad):
        self.grad = grad
        return grad @ self.w


class Net:
    def __init__(self, d):
        self.norm = nn.LayerNorm(d)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(d, d)
        self.pool = nn.MaxPool2d(2)
        self.layers = [nn.Linear(d, 3)]

    def forward(self, x, w, layer):
        x = CALL
        x = np.abs(x) + 1
        return x


rows = []
rows = CALL_OF_ROWS
rows.append(1)
"""


def offered(call: str) -> bool:
    source = PythonSource("a.py", CODE.replace("CALL_OF_ROWS", call).replace("CALL", call))
    return any(site.what == "the call" for site in sites(source, own_steps([source])))


@pytest.mark.parametrize(
    "call",
    ["self.norm(x)", "self.drop(x)", "flip(x, w)", "nn.Dropout(0.1)(x)"],
)
def test_a_call_that_keeps_the_form_is_offered(call: str) -> None:
    assert offered(call)


@pytest.mark.parametrize(
    "call",
    ["self.fc(x)", "self.pool(x)", "self.layers[0](x)", "layer(x)", "np.dot(x, w)", "F.one_hot(x, 10)",
     "F.one_hot(x, num_classes=10)", "nn.Dense(w)(x)", "np.asarray(x)", "list(x)", "np.vstack(rows)", "x.step(w)",
     "Layer().backward(x)", "np.sum(x, \"rows\")", "F.relu(x)", "np.clip(x, -0.5, 0.5)"],
)  # fmt: skip
def test_a_call_that_makes_another_form_or_keeps_a_state_is_not(call: str) -> None:
    assert not offered(call)
