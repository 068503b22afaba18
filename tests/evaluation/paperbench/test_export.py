import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.export_context import main
from tests.evaluation.graphs import stored
from xkg.blacklist import parse_blacklist
from xkg.commands.graph.audit import NamedInTexts

PAPER = """# Entropy Tuning for Shifted Data

## Abstract

We adapt a model to shifted data by entropy tuning. Code is at https://github.com/someone/entropy-tuning.

## 1 Introduction

Models fail under shift.

## 2 Method

### 2.1 Entropy Minimization Loss

The entropy minimization loss is the Shannon entropy of the predictions of a batch, minimized at test time.

### 2.2 Affine Normalization Update

The affine normalization update changes the scale and shift of normalization layers alone.

## 3 Experiments

It works.
"""


def peer(title: str, name: str, code: str) -> dict[str, Any]:
    node = {"implementation": code, "test": "assert True", "documentation": ""}
    description = "The Shannon entropy of predictions, minimized at test time."
    return {"paper_title": title, "techniques": [{"name": name, "description": description, "code": node}]}


@pytest.fixture
def kg(tmp_path: Path) -> Path:
    return stored(
        tmp_path,
        peer("Tent", "Entropy minimization loss", "def entropy(p):\n    return -(p * p.log()).sum()\n"),
        peer("A Survey", "Entropy minimization", "# from github.com/someone/entropy-tuning\nx = 1\n"),
        peer("Entropy Tuning for Shifted Data", "Entropy Minimization Loss", "SECRET = 1\n"),
    )


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    task = tmp_path / "tasks" / "entropy"
    task.mkdir(parents=True)
    (task / "paper.md").write_text(PAPER)
    (task / "blacklist.txt").write_text("https://github.com/someone/entropy-tuning\n")
    (tmp_path / "tasks" / "unfinished").mkdir()
    return tmp_path / "tasks"


def test_a_task_gets_pairs_no_leak(kg: Path, tasks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(tasks, kg=kg, out=out, least_score=0, llm="none") == 0
    printed = capsys.readouterr().out
    assert "clean" in printed
    assert f"left out: {tasks / 'unfinished'}: has no paper.md and no blacklist.txt" in printed
    guide = json.loads((out / "entropy" / "guide.json").read_text())
    names = json.dumps(guide["techniques"])
    assert "Entropy Minimization Loss" in names
    assert '"code": null' in names
    pairs = json.loads((out / "entropy" / "pairs.json").read_text())
    assert {pair["paper"] for pair in pairs} == {"Tent"}
    audited = json.loads((out / "entropy" / "audit.json").read_text())
    assert audited["clean"]
    assert any("entropy-tuning" in line for line in audited["withheld"])
    listed = NamedInTexts(parse_blacklist("https://github.com/someone/entropy-tuning\nSECRET = 1"))
    for name in ("guide.json", "pairs.json", "planning.md", "implementation.md"):
        text = (out / "entropy" / name).read_text()
        assert listed.named_in(text) == []
        assert "SECRET" not in text
    assert "def entropy(p)" in (out / "entropy" / "implementation.md").read_text()
