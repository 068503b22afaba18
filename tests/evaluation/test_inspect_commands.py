"""The tasks as the commands of Inspect list and run them, against an endpoint on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path

from evaluation.construction.tasks import read_judgements
from tests.llm_endpoint import ScriptedEndpoint

ROOT = Path(__file__).parents[2]


def inspect(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "inspect_ai", *arguments],
        cwd=ROOT,
        env={**os.environ, "PWD": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tasks_are_listed() -> None:
    listed = inspect("list", "tasks", "evaluation/construction") + inspect("list", "tasks", "evaluation/paperbench")
    names = {line.rpartition("@")[2].strip() for line in listed.splitlines() if "@" in line}
    assert names == {
        *("exact_pairs", "valid_techniques", "same_techniques"),
        *("react_agent", "iterative_agent", "papercoder_flow"),
    }


def test_a_judge_runs_as_a_command(tmp_path: Path) -> None:
    file = {"paper_title": "Tent", "techniques": [{"name": "entropy loss", "description": "Shannon entropy"}]}
    (tmp_path / "tent.json").write_text(json.dumps(file))
    with ScriptedEndpoint(lambda _: "It is one. <verdict>valid</verdict>") as endpoint:
        inspect(
            *("eval", "evaluation/construction/tasks.py@valid_techniques", "--model", "openai/judge"),
            *("-M", "responses_api=false", "-T", f"graph={tmp_path}", "--log-dir", str(tmp_path / "logs")),
            *("--display", "none"),
            OPENAI_BASE_URL=endpoint.url,
            OPENAI_API_KEY="key",
        )
    (log,) = (tmp_path / "logs").glob("*.eval")
    judgements, problems = read_judgements(log)
    assert [(j.judge, j.item, j.verdict) for j in judgements] == [
        ("openai/judge", "title:tent#entropy-loss", "valid"),
    ]
    assert problems == []
