import ast
from pathlib import Path

import pytest

from xkg.model import Code, Level, code_id
from xkg.sandbox import guest
from xkg.sandbox.evidence.levels import prove
from xkg.sandbox.isolation.bubblewrap import BubblewrapRunner
from xkg.sandbox.isolation.interpreters import OLDEST, at, installed
from xkg.sandbox.runner import Environment, Job, Limits, Runner

OLD = ("run_test", "observe", "line_trace")
"""These modules run in the same process as the code, so they run on the code's interpreter."""


def interpreters() -> list[Path | None]:
    """Returns the current interpreter and the oldest other interpreter on this machine, if there is one."""
    found = installed()
    return [None, *([found[min(found, key=lambda version: int(version[2:]))]] if found else [])]


def test_a_job_runs_on_the_interpreter_that_it_names(runner: Runner, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "alpha.py").write_text("")
    source = "import alpha, sys\nprint(sys.version_info[1])\nimport pip"
    for program in interpreters() if runner.name != "container" else []:
        outcome = runner.run(Job(arguments=("-c", source), site=tmp_path, python=program))
        lines = outcome.output.splitlines()
        assert lines[0] == str(at(program).minor)
        assert lines[-1] == "ModuleNotFoundError: No module named 'pip'"  # the interpreter's own packages are hidden


def test_levels_are_proven_on_an_old_interpreter() -> None:
    implementation = (
        "import collections\nif not hasattr(collections, 'Mapping'):\n    collections.Mapping = dict\n"
        "def area(width, height):\n    if width < 0:\n        return -1\n    return width * height + 1\n"
    )
    test = "assert area(3, 4) == 13\nassert area(-1, 2) == -1\nassert area(0, 5) == 1\nassert area(2, 2) == 5\n"
    code = Code(
        id=code_id("t", implementation, test),
        technique="t",
        implementation=implementation,
        test=test,
        documentation="",
    )
    program = interpreters()[-1]
    proof = prove(code, BubblewrapRunner(), Environment(site=None, hash="", python=program), Limits())
    assert proof.evidence.level is Level.TESTED, proof
    assert proof.evidence.covered_lines == (5, 6, 7)


@pytest.mark.parametrize("name", OLD)
def test_what_runs_beside_code_is_python_of_the_oldest(name: str) -> None:
    source = (Path(guest.__file__).parent / f"{name}.py").read_text()
    ast.parse(source, feature_version=(3, OLDEST))
