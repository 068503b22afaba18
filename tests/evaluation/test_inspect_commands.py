"""The tasks as Inspect lists them, and runs them by its command, against an endpoint on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import list_tasks

from evaluation.ablation_bench.scores.report import read_run
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
        *("author", "reviewer", "collect"),
    }


def test_a_judge_runs_as_a_command(tmp_path: Path) -> None:
    file = {"paper_title": "Tent", "techniques": [{"name": "entropy loss", "description": "Shannon entropy"}]}
    (tmp_path / "tent.json").write_text(json.dumps(file))
    task = "evaluation/construction/tasks.py@valid_techniques"
    log = evaluated("It is one. <verdict>valid</verdict>", task, tmp_path, f"graph={tmp_path}")
    judgements, problems = read_judgements(log)
    assert [(j.judge, j.item, j.verdict) for j in judgements] == [("openai/judge", "title:tent#entropy-loss", "valid")]
    assert problems == []


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(
            "evaluation/ablation_bench/tasks.py@author",
            marks=pytest.mark.product("the same command with another file of tasks"),
        )
    ],
)
def test_a_planner_runs_as_a_command(tmp_path: Path, task: str) -> None:
    (tmp_path / "main.tex").write_text("\\section{Steam}\nPour water on hot iron.\n")
    gold = {"name": "No steam", "ablated_part": "steam", "action": "REMOVE", "metrics": ["volume"]}
    row = {"id": "loaf", "paper_title": "Bread", "paper_abstract": "Of bread.", "paper_path": ".", "year": 2024}
    row |= {"ablations_in_paper": json.dumps([gold]), "num_ablation_suggestions": 1, "review_text": "[]"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    run = read_run(evaluated("I cannot.", task, tmp_path, f"instances={tmp_path / 'rows.jsonl'}"))
    assert run.papers[0].problems["empty plan"] == 1
