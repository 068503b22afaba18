"""Checks that the host's workflows run the same commands as `.ci/run` and the Makefile."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT

FOLDER = ROOT / ".github" / "workflows"


def _commands(name: str) -> list[str]:
    workflow: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [line.strip() for step in steps if "run" in step for line in step["run"].splitlines()]


@pytest.mark.parametrize("name", ["test.yml", "release.yml"])
def test_nothing_is_released_that_continuous_integration_has_not_passed(name: str) -> None:
    assert ".ci/run" in _commands(name)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yml")), ids=lambda path: path.name)
def test_what_is_called_is_there(path: Path) -> None:
    targets = set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for command in _commands(path.name):
        program, *words = command.split()
        if program == "make":
            assert set(words) <= targets, command
        if program.startswith("."):
            assert (ROOT / program).exists() or program.startswith(".venv/"), command


def test_a_release_has_a_wheel_of_its_own_tag_and_no_stored_token() -> None:
    workflow = yaml.safe_load((FOLDER / "release.yml").read_text())
    assert workflow[True]["push"]["tags"] == ["v*"]  # YAML 1.1 reads `on` as true
    assert workflow["jobs"]["pypi"]["permissions"] == {"id-token": "write"}
    assert workflow["jobs"]["pypi"]["needs"] == "dist"
    assert "make dist" in _commands("release.yml")
