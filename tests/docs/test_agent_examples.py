"""Tests the examples on the page about `xkg implement` with a scripted model."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests import command
from tests.agents.codification.runs import METHOD, AskedForChecks, edit, final, function, parts
from tests.build.repositories.test_checkout import committed, git
from tests.conftest import ROOT
from tests.docs.examples import blocks, calls
from tests.docs.test_examples import NEEDS_AGENT
from xkg.agents.codification.prompting.answers import DoubtAnswer

TRAIN = """import argparse
import json


def train(epochs):
    accuracy = 0.5
    return accuracy


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--out")
options = parser.parse_args()
accuracy = train(options.epochs)
print(f"test accuracy: {accuracy}")
if options.out:
    with open(options.out, "w") as file:
        json.dump([place < 10 * accuracy for place in range(10)], file)
"""
_ANSWER = "The function trains: its accuracy is what the method is to raise."
EVALUATE = """import json
import sys

right = json.load(open(sys.argv[1]))
print(f"test accuracy: {sum(right) / len(right)}")
"""


@pytest.mark.product("each page × its examples", every=True)
def test_agent_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = blocks(ROOT / NEEDS_AGENT)
    files = {"train.py": TRAIN, "evaluate.py": EVALUATE, "model.py": "", "metrics.py": ""}
    repository = committed(tmp_path / "repo", files)
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\\begin{document}\\section{Method}\\label{sec:method}" + METHOD + "\\end{document}"
    )
    (tmp_path / "cifar").mkdir()
    (tmp_path / "attention").mkdir()
    (tmp_path / "attention" / "heads.py").write_text("heads = 8\n")
    task = next(block.text for block in found if block.language == "yaml")
    for place in ("/datasets/cifar", "../attention"):
        task = task.replace(place, str(tmp_path / Path(place).name))
    (tmp_path / "implement.yaml").write_text(task)
    called = calls("".join(block.text for block in found if block.language == "sh"), tmp_path)
    assert len(called) == 7
    answers: list[dict[str, Any]] = [
        parts(),
        edit(
            function(
                "train", "def train(epochs):\n    accuracy = 0.5\n    accuracy += 0.1 * epochs\n    return accuracy"
            )
        ),
        final(7, 7),
        final(7, 7, answers=(DoubtAnswer(about="train.py::train", answer=_ANSWER),)),
    ]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XKG_LLM_KEY", "key")
    run = ""
    with AskedForChecks() as endpoint:
        monkeypatch.setenv("XKG_LLM__BASE_URL", endpoint.url)
        for call in called:
            endpoint.answers = list(answers)
            arguments = [run if argument == "repo-agent-1a2b3c4d5e" else argument for argument in call.arguments]
            code, seen = command.run(*arguments), capsys.readouterr()
            assert code == 0, seen.err
            if name := re.search(r"run (\S+):", seen.out):
                run = name[1]
    assert f"xkg/{run}" in git(repository, "branch", "--list", "xkg/*")
    assert (tmp_path / "changes.patch").exists()
    assert (tmp_path / "run.eval").exists()
