"""The tasks as Inspect lists them, and runs them by its command, against an endpoint on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import list_tasks

from evaluation.construction.tasks import read_judgements
from tests.conftest import ROOT
from tests.llm_endpoint import ScriptedEndpoint


def evaluated(answer: str, file: str, folder: Path, parameter: str) -> Path:
    """The log of `inspect eval` with a model that says `answer`."""
    with ScriptedEndpoint(lambda _: answer) as endpoint:
        known = {**os.environ, "PWD": str(ROOT), "NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "key"}
        done = subprocess.run(
            [
                *(sys.executable, "-m", "inspect_ai", "eval", file, "--model", "openai/judge", "--display", "none"),
                *("-M", "responses_api=false", "-T", parameter, "--log-dir", str(folder / "logs")),
            ],
            cwd=ROOT,
            env={**known, "OPENAI_BASE_URL": endpoint.url},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (folder / "logs").glob("*.eval")
    return log


def test_the_tasks_are_listed() -> None:
    assert {task.name for task in list_tasks("evaluation", root_dir=ROOT)} == {
        *("exact_pairs", "valid_techniques", "same_techniques"),
        *("react_agent", "iterative_agent", "papercoder_flow"),
        *("author", "reviewer"),
    }


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(
            "evaluation/construction/tasks.py@valid_techniques", marks=pytest.mark.product("a process: eight seconds")
        )
    ],
)
def test_a_judge_runs_as_a_command(tmp_path: Path, task: str) -> None:
    file = {"paper_title": "Tent", "techniques": [{"name": "entropy loss", "description": "Shannon entropy"}]}
    (tmp_path / "tent.json").write_text(json.dumps(file))
    log = evaluated("It is one. <verdict>valid</verdict>", task, tmp_path, f"graph={tmp_path}")
    judgements, problems = read_judgements(log)
    assert [(j.judge, j.item, j.verdict) for j in judgements] == [("openai/judge", "title:tent#entropy-loss", "valid")]
    assert problems == []
