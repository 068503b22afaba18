from pathlib import Path

import pytest

from evaluation.inputs.paths import given_path


def test_a_path_is_meant_from_where_the_command_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "graph").mkdir()
    (tmp_path / "tasks").mkdir()
    monkeypatch.setenv("PWD", str(tmp_path))
    monkeypatch.chdir(tmp_path / "tasks")
    assert given_path("graph") == tmp_path / "graph"
    assert given_path(str(tmp_path / "none")) == tmp_path / "none"
    assert given_path("none") == tmp_path / "tasks" / "none"
    (tmp_path / "tasks" / "here").mkdir()
    assert given_path("here") == tmp_path / "tasks" / "here"
