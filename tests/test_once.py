"""What is made once a run, in runs of pytest with two workers."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

TESTS = """
import os, pathlib, pytest
from tests.once import once_a_run

@pytest.fixture(scope="session")
def made(tmp_path_factory):
    def make(folder):
        with pathlib.Path(os.environ["MADE"]).open("a") as log:
            log.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
        (folder / "made").write_text("whole")
        return folder / "made"
    return once_a_run(tmp_path_factory, "it", make)

@pytest.mark.parametrize("n", range(8))
def test_reads(made, n):
    with pathlib.Path(os.environ["MADE"] + ".used").open("a") as log:
        log.write(os.environ["PYTEST_XDIST_WORKER"] + "\\n")
    assert made.read_text() == "whole"
"""


def test_one_worker_makes_what_all_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    log = tmp_path / "log"
    monkeypatch.setenv("MADE", str(log))
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, "-n", "2"]
    subprocess.run([*command, "--basetemp", tmp_path / "temporary", tmp_path], cwd=ROOT, check=True)
    assert len(log.read_text().splitlines()) == 1
    assert set(log.with_suffix(".used").read_text().split()) == {"gw0", "gw1"}
