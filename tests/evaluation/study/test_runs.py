import sys
from pathlib import Path

import pytest

from evaluation.study.runs import read_score, run


@pytest.fixture
def context(tmp_path: Path) -> Path:
    (tmp_path / "planning.md").write_text("plan")
    (tmp_path / "implementation.md").write_text("12345")
    return tmp_path


def python(program: str, *words: str) -> list[str]:
    return [sys.executable, "-c", program, *words]


@pytest.mark.parametrize(
    ("output", "score"),
    [
        ("0.5", 0.5),
        ('step 1\n{"score": 0.25, "n": 3}\nbye\n', 0.25),
        ("1\n2\n", 2.0),
        ("true", None),
        ("NaN", None),
        ("Infinity", None),
        ("1e999", None),
        ("score: 3", None),
        ('{"score": null}\n', None),
        ("", None),
        ("[" * 5000, None),
    ],
)
def test_the_last_line_with_a_number_is_the_score(output: str, score: float | None) -> None:
    assert read_score(output) == score


def test_a_command_gets_the_files_and_runs_once(context: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = (
        "import os, sys; open(sys.argv[2], 'a').write('x'); "
        "print(len(open(sys.argv[1]).read()) + int(os.environ['XKG_STUDY_RUN']))"
    )
    command = python(program, "{implementation}", str(log))
    first = run(command, "full", "title:a", 2, context, tmp_path / "runs", 60)
    assert first.score == 7
    assert run(command, "full", "title:a", 2, context, tmp_path / "runs", 60) == first
    assert log.read_text() == "x"
    (context / "implementation.md").write_text("1")
    assert run(command, "full", "title:a", 2, context, tmp_path / "runs", 60).score == 3
    assert log.read_text() == "xx"


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("raise SystemExit('no data')", "exited with 1: no data"),
        ("print('done')", "printed no line"),
        ("import time; time.sleep(60)", "took more than"),
    ],
)
def test_a_failed_run_says_why_and_is_tried_again(context: Path, tmp_path: Path, program: str, problem: str) -> None:
    made = run(python(program), "full", "title:a", 1, context, tmp_path / "runs", 2)
    assert made.score is None
    assert problem in made.problem
    assert not (tmp_path / "runs").exists()
