from pathlib import Path

import pytest

from xkg.agents.workspace.command import Commands
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.config import SandboxSettings
from xkg.sandbox.runner import Environment, Limits
from xkg.sandbox.select import runner_for


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    folder = tmp_path / "starter"
    (folder / "lib").mkdir(parents=True)
    (folder / "train.py").write_text(
        "import sys\nfrom lib.model import step\n\nfor number in range(3):\n    step(number)\nprint('loss: 0.5')\n"
    )
    (folder / "lib" / "model.py").write_text("def step(x):\n    if x > 5:\n        x = 0\n    return x + 1\n")
    (folder / "logo.png").write_bytes(b"\x89PNG\0\0")
    return folder


@pytest.fixture
def workspace(starter: Path, tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "run", read_starter(str(starter), tmp_path / "cache"))


@pytest.fixture
def commands() -> Commands:
    return Commands(runner_for(SandboxSettings()), Environment(site=None, hash=""), Limits(seconds=60, disk_mb=64))
