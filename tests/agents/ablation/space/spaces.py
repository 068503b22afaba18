"""Builds the search spaces of repositories with one file."""

from typing import Any

from xkg.agents.ablation.candidates import Candidate, Place, Space
from xkg.agents.ablation.mutation import apply
from xkg.agents.ablation.space.python_source import PythonSource
from xkg.agents.ablation.space.space import find_space
from xkg.agents.ablation.task import parse_metric

METRIC = "out.json:test_mse:min"
ERROR = "error: ([0-9.]+):min"
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


def space_in(text: str, metric: str, *, path: str = "train.py", **more: Any) -> tuple[Space, list[Place], list[Place]]:
    """Returns the space, the protected lines that compute the metric, and the functions that these lines call."""
    return find_space([PythonSource(path, text)], [], {path: text}, parse_metric(metric), **more)


def space_of(text: str = TRAIN, metric: str = METRIC, **more: Any) -> Space:
    return space_in(text, metric, **more)[0]


def of(space: Space, name: str) -> list[Candidate]:
    return [k for c in space.components if c.name == name for k in space.of(c.id)]


def values_of(space: Space) -> dict[str, list[str]]:
    """Returns the values that are tried for each component."""
    return {c.name: [one.value for one in space.of(c.id)] for c in space.components}


def reasons_of(space: Space) -> dict[str, str]:
    """Returns the reason for each name that is left out."""
    return {left.name: left.reason for left in space.left_out}


def changed_text(candidate: Candidate, text: str = TRAIN) -> str:
    """Returns the text with the candidate's change."""
    return apply(candidate.replacements, {"train.py": text})["train.py"]


def candidates_of(text: str, command: str = "python train.py", **more: Any) -> set[str]:
    """Returns the descriptions of a program's candidates if it prints an error."""
    return {candidate.description for candidate in space_of(text, ERROR, command=command, **more).candidates}
