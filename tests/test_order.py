"""In which order tests come, in runs of pytest."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

PLUGIN = """
from tests import order

order.LONG = 0.0

def pytest_configure(config):
    config.pluginmanager.register(order.LongestFirst(config))
"""
TESTS = """
import pytest

@pytest.mark.parametrize("n", range(6))
def test_it(n): ...
"""


def test_what_took_long_comes_first_in_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(PLUGIN)
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, tmp_path]
    command += ["-o", f"cache_dir={tmp_path / 'cache'}"]
    subprocess.run([*command, "-n", "2"], cwd=ROOT, check=True)
    seconds: dict[str, float] = json.loads((tmp_path / "cache/v/xkg/seconds_of_long_tests").read_text())
    assert len(seconds) == 6
    listed = subprocess.run([*command, "--collect-only"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"test_it\.py::\S+", listed) == sorted(seconds, key=lambda test: -seconds[test])
