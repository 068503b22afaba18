"""What is wrong with a task's parameters, in one line."""

import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import Task, task

from evaluation.inputs.task_parameters import checked
from tests.conftest import ROOT
from xkg.errors import InputError


@pytest.fixture(autouse=True)
def hook(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter's own hook again, after each test."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)


@task
@checked
def loaves(folder: str, count: int = 1) -> Task:
    if count > 9:
        raise ValueError(f"too many for {folder}")
    return Task()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"folder": "x", "count": "two"}, "-T count=two: Input should be a valid integer"),
        ({"folder": 3}, "-T folder=3: Input should be a valid string"),
        ({}, "loaves: missing a required argument: 'folder'; give parameters as -T NAME=VALUE"),
        ({"folder": "x", "count": 10}, "loaves: too many"),
    ],
)
def test_what_is_wrong_is_one_line(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as raised:
        loaves(**given)
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "name", [pytest.param("construction/tasks.py@exact_pairs", marks=pytest.mark.product("a process: four seconds"))]
)
def test_the_command_of_inspect_ends_with_that_line(name: str, tmp_path: Path) -> None:
    command = f"-m inspect_ai eval evaluation/{name} --model mockllm/model -T graph=nowhere"
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "INSPECT_LOG_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
