from pathlib import Path

import pytest

from tests.agents.ablation.test_campaign import repository, task_of  # noqa: F401
from xkg.agents.ablation.running.on_engine import CandidateRun, spread_over
from xkg.agents.workspace.files.starter import read_starter
from xkg.agents.workspace.files.workspace import Workspace
from xkg.commands.ablate import ablate
from xkg.config import Settings
from xkg.engine.engine import NoWorkerError
from xkg.engine.local import LocalEngine


@pytest.mark.product("two campaigns; tests/engine has the engine", every=True)
def test_a_campaign_comes_to_the_same_through_an_engine(repository: Path, tmp_path: Path) -> None:  # noqa: F811
    settings = Settings(kg=tmp_path / "kg")
    task = task_of(repository, budget=2, seeds=[0, 1])
    here = ablate(settings, task, tmp_path / "here")
    spread = ablate(settings, task, tmp_path / "spread", engine=LocalEngine(2))
    assert spread.baseline == here.baseline
    assert [(part.name, part.change, part.tried) for part in spread.components] == [
        (part.name, part.change, part.tried) for part in here.components
    ]


def test_a_node_without_the_data_is_named(repository: Path, tmp_path: Path) -> None:  # noqa: F811
    settings = Settings(kg=tmp_path / "kg")
    task = task_of(repository, data={"data": tmp_path / "nowhere"})
    workspace = Workspace.create(tmp_path / "w", read_starter(str(repository), tmp_path / "cache"))
    with (
        pytest.raises(NoWorkerError, match="same path on every node"),
        spread_over(LocalEngine(1), settings, task.data.values()) as run,
    ):
        run(CandidateRun(task, workspace.files, 0, None))
