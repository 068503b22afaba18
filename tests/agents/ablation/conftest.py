from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.ablation.model_world import World
from tests.agents.workspace.recorded_commands import RecordedCommands
from xkg.agents.ablation.running import bench


@pytest.fixture
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded_commands: type[RecordedCommands]
) -> Iterator[World]:
    monkeypatch.setattr(bench, "Commands", recorded_commands)
    made = World(tmp_path, monkeypatch)
    with made.endpoint:
        yield made
