"""A measurement that cannot run ends in one line, as commands of xkg do."""

import json
import runpy
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.inputs.command import run_command
from tests.conftest import ROOT

MAINS = [file for file in (ROOT / "evaluation").rglob("*.py") if '__name__ == "__main__"' in file.read_text()]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (lambda: Path("/no/such").read_text(), "/no/such: No such file or directory"),
        (lambda: json.loads("no"), "not JSON"),
        (lambda: statistics.fmean([]), "too little to measure"),
    ],
)
def test_an_input_that_cannot_be_used_is_one_line(fault: Callable[[], Any], told: str) -> None:
    with pytest.raises(SystemExit) as ended:
        run_command(fault)
    assert told in str(ended.value.code)
    assert "\n" not in str(ended.value.code)


def test_every_measurement_is_run_so() -> None:
    others = [file for file in MAINS if "run_command(" not in file.read_text() and "cases" not in file.parts]
    assert len(MAINS) > 30
    assert others == []


def test_gold_of_another_graph_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from xkg.commands.graph.contents import import_graphs
    from xkg.config import Settings

    graph = {"paper_title": "Tent", "techniques": [{"name": "entropy loss", "description": "Shannon entropy"}]}
    (tmp_path / "tent.json").write_text(json.dumps(graph))
    import_graphs(Settings(kg=tmp_path / "kg"), tmp_path / "tent.json")
    gold = {"id": "a", "kind": "short", "query": "entropy", "gold": [["title:tent#of-another-graph"]]}
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold))
    monkeypatch.setattr(sys, "argv", ["refusals", "--kg", str(tmp_path / "kg"), str(tmp_path / "gold.jsonl")])
    with pytest.raises(SystemExit, match="1 of 1 gold techniques are not in this graph, such as title:tent#of-another"):
        runpy.run_module("evaluation.refusals", run_name="__main__")
    assert capsys.readouterr().out == ""
