from pathlib import Path

import pytest

from evaluation.codification.judging import Judgement, judged, judgements_in, write
from evaluation.codification.results import by_mode, runs_in
from xkg.agents.codification.result import CodificationResult
from xkg.agents.codification.task import Task
from xkg.errors import InputError


def stored(folder: Path, run: str, mode: str, letter: str, *, graph: bool = True) -> None:
    fields = {
        "run": run, "mode": mode, "result": letter, "metric_before": 1, "metric_after": 2, "steps": 3, "edits": 2,
        "changed_files": [], "faults": [], "stopped": None, "dollars": 0.25, "expert_calls": 1, "notes": [],
        "report": "r",
    }  # fmt: skip
    place = folder / "runs" / run
    place.mkdir(parents=True)
    (place / "result.json").write_text(CodificationResult.model_validate(fields).model_dump_json())
    task = {"method": "m", "starter": "s", "run": "python a.py", "metric": "x:max", "mode": mode, "graph": graph}
    (place / "task.json").write_text(Task.model_validate(task).model_dump_json())


def test_runs_are_counted_by_mode_and_class(tmp_path: Path) -> None:
    stored(tmp_path, "a", "agent", "A")
    stored(tmp_path, "b", "agent", "C")
    stored(tmp_path, "c", "single", "D", graph=False)
    stored(tmp_path, "d", "agent", "B", graph=False)
    table = by_mode(runs_in([tmp_path / "runs"]))
    cells = [list(column.cells) for column in table.columns]
    assert cells[0] == ["agent", "agent, no graph", "single"]
    assert cells[1:6] == [["2", "1", "1"], ["1", "0", "0"], ["0", "1", "0"], ["1", "0", "0"], ["0", "0", "1"]]
    assert cells[-1] == ["0.500", "0.250", "0.250"]
    with pytest.raises(InputError, match="contains no finished run"):
        runs_in([tmp_path / "none"])
    assert [run.folder.name for run in runs_in([tmp_path / "runs" / "b"])] == ["b"]


def test_judges_say_what_was_repaired(tmp_path: Path) -> None:
    stored(tmp_path, "a", "agent", "A")
    stored(tmp_path, "b", "single", "B")
    rows = [
        Judgement(run=run, judge=judge, quality=quality, edited=10, repaired=repaired)
        for run, judge, quality, repaired in (
            ("a", "one", "S1", 0),
            ("a", "two", "S2", 4),
            ("b", "one", "S2", 2),
            ("b", "two", "S2", 3),
        )
    ]
    write(rows, tmp_path / "j.csv")
    assert judgements_in(tmp_path / "j.csv") == rows
    runs = {run.folder.name: run for run in runs_in([tmp_path / "runs"])}
    lines = judged(rows, runs)
    assert lines[1] == "a (A), judge two: S2, 4 of 10 edited lines were repaired, time saved 60%"
    assert "single: S2 2; 5 of 20 edited lines were repaired, time saved 75%" in lines
    assert lines[-2] == "all: S1 1, S2 3; 9 of 40 edited lines were repaired, time saved 78%"
    assert lines[-1] == "the judges agree on 1 of 2 runs that several judged"
    with pytest.raises(InputError, match="unknown run a"):
        judged(rows, {})
