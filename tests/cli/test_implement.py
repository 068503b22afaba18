"""Tests `xkg implement` on a real repository with a scripted model."""

import json
from pathlib import Path

import pytest

from tests.agents.codification.runs import (
    METHOD,
    MODEL,
    MOMENTUM,
    TRAIN,
    AskedForChecks,
    edit,
    final,
    function,
    parts,
    step,
)
from tests.build.repositories.test_checkout import git
from tests.command import run


@pytest.fixture
def starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    folder = tmp_path / "starter"
    git(tmp_path, "init", "-q", "-b", "trunk", str(folder))
    (folder / "train.py").write_text(TRAIN)
    (folder / "model.py").write_text(MODEL)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    monkeypatch.chdir(tmp_path)
    return folder


def xkg(*words: str) -> int:
    return run("--kg", "kg", *words)


def test_a_method_becomes_a_branch_of_the_users_repository(
    starter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "method.txt").write_text(METHOD)
    (tmp_path / "data.txt").write_text("A bowl whose bottom is at zero.")
    with AskedForChecks() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        endpoint.answers = [
            parts(),
            step("search_techniques", text="momentum"),
            edit(function("train", MOMENTUM)),
            final(),
        ]
        task = ("--method", "method.txt", "--starter", "starter", "--run", "python train.py")
        described = ("--data-description", "data.txt", "--json")
        assert xkg("implement", *task, "--metric", r"final loss: ([\d.]+):min", *described) == 0
        seen = capsys.readouterr()
        result = json.loads(seen.out)
        assert result["result"] == "A"
        assert "# The data\nA bowl whose" in endpoint.requests[-1]["messages"][1]["content"]
        assert "the library has no answer: the graph in kg is empty" in endpoint.requests[2]["messages"][1]["content"]
        assert "edit  " in seen.err
    monkeypatch.chdir(starter)  # later commands run elsewhere, but the run was given relative paths
    run("--kg", tmp_path / "kg", "implement", "apply", result["run"])
    branch = f"xkg/{result['run']}"
    assert branch in capsys.readouterr().out
    assert git(starter, "log", "--format=%s", f"trunk..{branch}") == "Keep a velocity"
    assert git(starter, "status", "--porcelain") == ""
    monkeypatch.chdir(tmp_path)
    assert xkg("implement", "apply", result["run"][:10], "--patch", "a.patch") == 0
    assert "velocity" in (tmp_path / "a.patch").read_text()
    assert xkg("implement", "apply", result["run"], "--patch", "a.patch") == 1
    assert "already exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--starter", "starter"), "the task is incomplete; pass --method, --run, --metric"),
        (
            ("--method", "absent.tex#x", "--starter", "starter", "--run", "r", "--metric", "a:max"),
            "is not a file, a paper in the graph",
        ),
        (("--method", METHOD, "--starter", "absent", "--run", "r", "--metric", "a:max"), "absent does not exist"),
        (
            ("--method", METHOD, "--starter", "starter", "--run", "r", "--metric", "a"),
            "whether higher or lower is better",
        ),
        (("--method", METHOD, "--starter", "starter", "--run", "false", "--metric", "a:max"), "ended with status 1"),
        (("apply", "nothing"), "'nothing' is not a run in kg (runs: none)"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    starter: Path,  # noqa: ARG001
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    line: str,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert xkg("implement", *words) == 1
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1
