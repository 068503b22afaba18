"""Changed functions are called once more with degenerate inputs."""

from pathlib import Path

import numpy as np
import pytest

from xkg.agents.workspace.command import Commands
from xkg.agents.workspace.starter import read_starter
from xkg.agents.workspace.workspace import Workspace
from xkg.config import SandboxSettings
from xkg.sandbox.runner import Environment, Limits
from xkg.sandbox.select import runner_for

CODE = """import numpy as np


def bandwidth(x):
    distances = ((x[:, None] - x[None]) ** 2).sum(-1)
    return np.median(distances)


def kernel(x, scale=1.0):
    distances = ((x[:, None] - x[None]) ** 2).sum(-1)
    return np.exp(-distances / bandwidth(x) / scale)


def normalized(x):
    length = np.linalg.norm(x)
    if length == 0:
        raise ValueError("there is no direction")
    return x / length


def safe(x):
    return x / (1 + abs(x))


def changed_in_place(x):
    x += 1
    return 1 / (x - x + 1)


def one_after_the_other(x):
    yield from x


if __name__ == "__main__":
    x = np.random.default_rng(0).normal(size=(5, 2))
    for function in (bandwidth, kernel, normalized, safe, changed_in_place, one_after_the_other):
        function(x.copy())
    print("loss: 1")
"""
NAMES = ("bandwidth", "kernel", "normalized", "safe", "changed_in_place", "one_after_the_other", "absent")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "starter").mkdir()
    (tmp_path / "starter" / "train.py").write_text(CODE)
    return Workspace.create(tmp_path / "run", read_starter(str(tmp_path / "starter"), tmp_path / "cache"))


def test_what_fails_for_coinciding_points_is_found(workspace: Workspace) -> None:
    site = Path(np.__file__).parents[1]
    limits = Limits(seconds=60, disk_mb=64)
    commands = Commands(runner_for(SandboxSettings()), Environment(site=site, hash=""), limits)
    result = commands.run(workspace, "python train.py", watched={"train.py": NAMES})
    assert result.ok, result
    assert result.output.strip() == "loss: 1", "what the functions print must not be read as the metric"
    assert sorted(result.findings) == [
        "kernel: NaN or infinity where all rows of x are equal",
        "kernel: NaN or infinity where x is all zero",
        "normalized: ValueError: there is no direction where x is all zero",
    ]
    assert commands.run(workspace, "python train.py").findings == ()
