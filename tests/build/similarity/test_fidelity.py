import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.similarity.fidelity import Scope, omitted, share, unmatched
from xkg.model import FAITHFUL_SHARE

SOURCE = """\
# --- stein/sampler.py:12-44 @ 0a1b2c3
class SVGD:
    def __init__(self, cfg):
        super().__init__()
        self.lr = cfg.lr
        self.score = cfg.score

    def _kernel(self, theta):
        sq = torch.cdist(theta, theta) ** 2
        h = torch.median(sq) / torch.log(torch.tensor(theta.shape[0] + 1.0))
        K = torch.exp(-sq / h)
        dK = 2 * (K.sum(dim=1, keepdim=True) * theta - K @ theta) / h
        return K, dK

    def step(self, theta):
        K, dK = self._kernel(theta)
        drift = K @ self.score(theta)
        phi = (drift + dK) / theta.shape[0]
        self.history = 0.9 * self.history + 0.1 * phi ** 2
        logger.info("phi %f", phi.norm())
        return theta + self.lr * phi / (1e-6 + torch.sqrt(self.history))

# --- stein/run.py:80-88 @ 0a1b2c3
    for t in range(cfg.steps):
        x = sampler.step(x)
        if t % cfg.log_every == 0:
            wandb.log({"t": t})
"""
FAITHFUL = '''\
"""Stein variational gradient descent."""

from typing import Callable

import numpy as np


def rbf(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The kernel matrix and the repulsive term."""
    if points.ndim != 2:
        raise ValueError("points are rows")
    n: int = points.shape[0]
    squared = np.square(cdist(points, points))
    bandwidth = np.median(squared) / np.log(n + 1.0)
    gram = np.exp(-squared / bandwidth)
    rows = gram.sum(axis=1, keepdims=True)
    repulsion = 2 * (rows * points - np.matmul(gram, points)) / bandwidth
    return gram, repulsion


def svgd_step(points: np.ndarray, score: Callable, history: np.ndarray, rate: float = 0.1):
    """One step."""
    assert rate > 0
    gram, repulsion = rbf(points)
    direction = (gram @ score(points) + repulsion) / points.shape[0]
    history = 0.9 * history + 0.1 * direction**2
    denominator = 1e-6 + np.sqrt(history)
    return points + rate * direction / denominator, history


def run(points, score, steps=100):
    history = np.zeros_like(points)
    for _ in range(steps):
        points, history = svgd_step(points, score, history)
    return points
'''
LANGEVIN = """\
import numpy as np

def langevin(points, score, rate, rng):
    noise = rng.standard_normal(points.shape)
    proposal = points + rate * score(points) + np.sqrt(2 * rate) * noise
    forward = -((proposal - points - rate * score(points)) ** 2).sum(axis=1) / (4 * rate)
    backward = -((points - proposal - rate * score(proposal)) ** 2).sum(axis=1) / (4 * rate)
    accepted = np.log(rng.uniform(size=len(points))) < backward - forward
    return np.where(accepted[:, None], proposal, points)
"""


def test_a_faithful_rewrite_in_another_library_and_style_is_near_one_and_another_method_far_below() -> None:
    assert share(FAITHFUL, SOURCE) >= 0.85
    assert FAITHFUL_SHARE == 0.7  # this is the published threshold
    assert share(LANGEVIN, SOURCE) <= 0.45


def test_what_was_added_is_named_with_its_line() -> None:
    added = FAITHFUL.replace(
        "    return gram, repulsion\n", "    gram = np.tanh(gram) * np.cos(points.sum())\n    return gram, repulsion\n"
    )
    assert share(added, SOURCE) < share(FAITHFUL, SOURCE)
    found = {text: line for line, text in unmatched(added, SOURCE)}
    line = next(i for i, text in enumerate(added.splitlines(), 1) if "tanh" in text)
    assert found["gram = np.tanh(gram) * np.cos(points.sum())"] == line


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("s = f(a)\nt = s + b\nprint(t)", "y = f(a) + b"),
        ("def g(x): return np.exp(-x / t)", "class A:\n    def g(self, z): return torch.exp(-z / self.t)"),
        ("y = np.sum(x, axis=1)", "y = x.sum(1)"),
        ("y = np.matmul(a, b)", "y = a @ b"),
        ("y = x.shape[0] * 2", "y = x.size(0) * 2"),
        ("y = np.square(a - b)", "y = (a - b) ** 2"),
        ("y: float = a > b * 2", "y = b * 2 < a"),
        ("x = x - lr * g(x)", "x -= lr * g(x)"),
        ("y = (a * b).to(device).float()", "y = a * b"),
        ("y = rate * g(x)", "y = self.args.rate * self.g(x)"),
    ],
)
def test_spelling_does_not_matter(mine: str, theirs: str) -> None:
    def wrapped(source: str) -> str:
        return "def method(self, a, b, x, z, t, g, lr, device, rate, config):\n    " + source.replace("\n", "\n    ")

    first = mine if mine.startswith("def") else wrapped(mine)
    assert share(first, theirs if theirs.startswith("class") else wrapped(theirs)) == 1.0


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("return np.exp(-x / t) * np.cos(x)", "return np.log(x + t) / np.sin(x)"),
        ("return (a - b) / (a + b)", "return np.linalg.norm(a) * b"),
        ("return a @ b - b.T @ a", "return np.maximum(a, b).sum()"),
    ],
)
def test_other_formulas_do_not_match(mine: str, theirs: str) -> None:
    head = "def method(a, b, x, t):\n    "
    assert share(head + mine, head + theirs) == 0.0


def test_one_statement_does_not_vouch_for_twenty() -> None:
    line = "    x = np.exp(-x / t) + np.log(x * t)\n"
    twenty = "def f(x, t):\n" + 20 * line
    assert share(twenty, "def f(x, t):\n" + line) <= 0.1
    assert share(twenty, twenty) == 1.0


def test_only_what_computes_counts() -> None:
    bare = """\
import os

def f(x: int, y=3) -> int:
    'Says.'
    assert x > 0
    if y < 0:
        raise ValueError(y)
    print(x)
    z = x
    return z
"""
    assert share(bare, SOURCE) == 0.0
    assert unmatched(bare, SOURCE) == []


@pytest.mark.parametrize("broken", ["", "def f(:", "\0", "fn main() { let x = 1; }", "x = (" * 300])
def test_what_cannot_be_read_has_no_counterparts(broken: str) -> None:
    assert share(FAITHFUL, broken) == 0.0
    assert share(broken, SOURCE) == 0.0


def test_an_excerpt_that_is_cut_is_read_in_pieces() -> None:
    cut = (
        SOURCE.replace("    def step(self, theta):", "    …\n    def step(self, theta):")
        + "    return phi, (unfinished\n"
    )
    assert share(FAITHFUL, cut) >= 0.8


@given(st.permutations(["theta", "sq", "h", "K", "dK", "drift", "phi"]))
def test_names_of_variables_do_not_matter(names: list[str]) -> None:
    new = dict(zip(["theta", "sq", "h", "K", "dK", "drift", "phi"], names, strict=True))
    tree = ast.parse(SOURCE.partition("# --- stein/run.py")[0])
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)
    assert share(ast.unparse(tree), SOURCE) == 1.0


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_share_is_a_share(mine: str, theirs: str) -> None:
    assert 0.0 <= share(mine, theirs) <= 1.0


def test_what_a_rewrite_leaves_out_is_named_nearest_first() -> None:
    lacking = FAITHFUL.replace("    history = 0.9 * history + 0.1 * direction**2\n", "")
    [left] = omitted(lacking, SOURCE, 1)
    assert left.text == "self.history = 0.9 * self.history + 0.1 * phi ** 2"
    assert SOURCE.splitlines()[left.line - 1].strip() == left.text
    assert omitted(SOURCE, SOURCE, 9) == []
    assert omitted(SOURCE, SOURCE + SOURCE, 9) == []
    assert len(omitted(LANGEVIN, SOURCE, 3)) == 3


COMPOSITE = """\
def solved(u, v):
    return v / (1 + u)


def stepped(u, v, w, scale):
    a = scale * u + (scale) / (1 + scale) * v
    s = solved(a, v)
    return averaged(s, w, scale)


def averaged(s, w, scale):
    return w / (1 + scale) + s
"""


def test_a_call_of_a_component_needs_no_counterpart() -> None:
    source = (
        "def step(u, v, w, scale):\n    a = scale * u + (scale) / (1 + scale) * v\n    s = v / (1 + a)\n    return s\n"
    )
    lines = frozenset((5, 6, 7, 8))
    assert share(COMPOSITE, source, Scope(lines, 9, frozenset((7, 8)))) == 1.0
    assert unmatched(COMPOSITE, source, Scope(lines, 9, frozenset((7, 8)))) == []
    assert share(COMPOSITE, source, Scope(frozenset((7, 8)), 9, frozenset((7, 8)))) == 1.0
    assert share(COMPOSITE, "def other(x):\n    return x ** 7 - 3\n", Scope(lines, 2, frozenset((7, 8)))) == 0.0
