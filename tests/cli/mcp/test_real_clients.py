"""Checks that the real clients load the files from `xkg mcp install`. Whether a server answers in time depends on the
machine."""

import subprocess
from pathlib import Path

import pytest

from tests.command import run
from tests.llm.programs.test_real_programs import installed
from xkg.llm.programs.known import PROGRAMS


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(
            client,
            marks=[
                pytest.mark.product("needs programs of npm, and seconds", every=True),
                pytest.mark.skipif(not installed(client).exists(), reason="make agents installs it"),
            ],
        )
        for client in PROGRAMS
    ],
)
def test_a_client_loads_its_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    for variable in ("CODEX_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    scope = ["--scope", "user"] if client == "codex" else []
    assert run("--kg", tmp_path / "kg", "mcp", "install", client, "--write", *scope) == 0
    listed = subprocess.run(
        [installed(client), "mcp", "list"], capture_output=True, text=True, timeout=120, check=False, cwd=project
    )
    assert str(tmp_path / "kg") in listed.stdout + listed.stderr
