"""What the two tiers hold, in runs of pytest."""

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

TESTS = """
import pytest

SLOW = pytest.param("slow", marks=pytest.mark.product("slow"))

@pytest.fixture(params=["a", "b", "c", SLOW])
def runner(request):
    return request.param

def test_unmarked(runner): ...

@pytest.mark.product("each runner × each act", "runner")
@pytest.mark.parametrize("act", range(20))
def test_acts(runner, act): ...

@pytest.mark.product("each query")
@pytest.mark.parametrize("query", range(9))
def test_queries(query): ...

@pytest.mark.product("each way")
def test_one(): ...

@pytest.mark.product("a process: nine seconds", every=True)
@pytest.mark.parametrize("signal", range(2))
def test_whole(signal): ...

@pytest.fixture
def browser(): ...

@pytest.fixture
def page(browser): ...

def test_seen(page): ...
"""


def collected(folder: Path) -> list[str]:
    (folder / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", folder, "-p", "tests.tiers"]
    ran = subprocess.run(
        [*command, "--collect-only", "--sample", folder], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return re.findall(r"test_it\.py::(\S+)", ran.stdout)


def test_a_sample_has_one_case_of_each_set(tmp_path: Path) -> None:
    sample = collected(tmp_path)
    acts = [re.findall(r"\w+", name)[1:] for name in sample if name.startswith("test_acts")]
    assert sorted(int(act) for _, act in acts) == [*range(20)]
    assert {runner for runner, _ in acts} == {"a", "b", "c"}
    assert len([name for name in sample if name.startswith("test_queries")]) == 1
    others = {name for name in sample if name.startswith(("test_unmarked", "test_one"))}
    assert others == {"test_unmarked[a]", "test_unmarked[b]", "test_unmarked[c]", "test_one"}
