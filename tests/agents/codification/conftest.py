from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.codification.runs import AskedForChecks, World
from tests.agents.workspace.recorded_commands import RecordedCommands
from xkg.build.parsing.parsers import Parsers


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def world(tmp_path: Path, parsers: Parsers, recorded_commands: type[RecordedCommands]) -> Iterator[World]:
    with AskedForChecks() as endpoint:
        yield World(tmp_path, endpoint, parsers, recorded_commands)
