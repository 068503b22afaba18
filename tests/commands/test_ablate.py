from pathlib import Path

import pytest
from typer.testing import CliRunner

from xkg.agents.ablation.task import read_task
from xkg.cli.main import app
from xkg.commands.ablate import ablate
from xkg.config import Settings
from xkg.errors import UnknownIdError


def test_a_paper_that_is_not_there_is_refused_before_anything_runs(published: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('accuracy 0.5')\n")
    metric = "accuracy ([0-9.]+):max"
    task = read_task(None, {"repo": str(tmp_path), "run": "python train.py", "metrics": (metric,), "paper": "nobody"})
    heard: list[str] = []
    with pytest.raises(UnknownIdError, match="no paper 'nobody'"):
        ablate(Settings(kg=published), task, tmp_path / "run", 1, heard.append)
    assert heard == []
    assert not (tmp_path / "run").exists()


def test_without_run_the_commands_of_the_readme_are_offered(tmp_path: Path) -> None:
    code = tmp_path / "code"
    (code / "nets").mkdir(parents=True)
    (code / "README.md").write_text("# Run\n\n```\ncd nets\npython train.py\n```\nor `python other.py`.\n")
    (code / "nets" / "train.py").write_text("RATE = 0.5\nprint('accuracy', RATE)\n")
    (code / "other.py").write_text("")
    command = ["--kg", str(tmp_path / "kg"), "ablate", "--llm", "none", "--repo", str(code), "--seed", "0"]
    command += ["--metric", "accuracy ([0-9.]+):max", "--budget", "1"]
    refused = CliRunner().invoke(app, command)
    assert "`cd nets && python train.py` (1 other: `python other.py`); accept it with --yes" in str(refused.exception)
    taken = CliRunner().invoke(app, [*command, "--yes"])
    assert "run `cd nets && python train.py`" in taken.output
    assert "baseline: 0.5" in taken.output
    assert "  RATE: 0.5 → " in taken.output
    assert "RATE: RATE: " not in taken.output
    (code / "README.md").write_text("Run `python gone.py`.\n")
    nothing = CliRunner().invoke(app, [*command, "--yes"])
    assert "pass a command with --run" in str(nothing.exception)
