"""Fuzzes each parser for a share of the time given to `make search`. A parser may raise only documented errors, and
must stay within limits on time and memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
SECONDS = max(2, int(os.environ["XKG_SEARCH"]) // len(TARGETS))


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_breaks_it(name: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.driver", name, str(SECONDS)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    bad = {path.name: path.read_bytes() for path in tmp_path.iterdir() if "-" in path.name}
    assert ran.returncode == 0, (bad, ran.stderr.decode(errors="replace")[-3000:])
