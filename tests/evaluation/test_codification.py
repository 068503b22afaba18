from pathlib import Path

import pytest

from evaluation.codification import by_mode, judged, judgements_in, results_in
from xkg.agents.codification.result import CodificationResult
from xkg.errors import InputError


def result(run: str, mode: str, letter: str) -> CodificationResult:
    return CodificationResult.model_validate(
        {
            "run": run, "mode": mode, "result": letter, "metric_before": 1, "metric_after": 2, "steps": 3, "edits": 2,
            "changed_files": [], "faults": [], "stopped": None, "dollars": 0.25, "expert_calls": 1, "notes": [],
            "report": "r",
        }
    )  # fmt: skip


def test_runs_are_counted_by_mode_and_class(tmp_path: Path) -> None:
    for run, mode, letter in (("a", "agent", "A"), ("b", "agent", "C"), ("c", "single", "D")):
        (tmp_path / run).mkdir()
        (tmp_path / run / "result.json").write_text(result(run, mode, letter).model_dump_json())
    table = by_mode(results_in([tmp_path]))
    cells = [list(column.cells) for column in table.columns]
    assert cells[:6] == [["agent", "single"], ["2", "1"], ["1", "0"], ["0", "0"], ["1", "0"], ["0", "1"]]
    assert cells[-1] == ["0.500", "0.250"]
    with pytest.raises(InputError, match="no run that is over"):
        results_in([tmp_path / "a"])


def test_judges_say_what_was_repaired(tmp_path: Path) -> None:
    file = tmp_path / "j.csv"
    file.write_text("run,judge,quality,edited,repaired\na,one,S1,10,1\na,two,S2,10,4\n")
    lines = judged(judgements_in(file), {"a": result("a", "agent", "A")})
    assert lines[0] == "a (A), judge one: S1, 10 lines edited, 1 repaired, time saved 90%"
    assert lines[-1] == "all: S1 1, S2 1; 5 of 20 edited lines were repaired"
    with pytest.raises(InputError, match="no run a"):
        judged(judgements_in(file), {})
