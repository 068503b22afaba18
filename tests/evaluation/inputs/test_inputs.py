"""Tests the inputs of measurements: graphs, rows, human-made hierarchies and task parameters."""

from pathlib import Path

from evaluation.inputs.inspect_tasks import cut_paper
from evaluation.inputs.rows import read_rows
from xkg.value import Value


class Row(Value):
    pair: str
    verdict: str


def test_rows_that_are_malformed_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"pair": "p", "verdict": "v"}\n\n{"pair": 3}\nnot json\n\xff\n[]\n')
    rows, problems = read_rows(file, Row)
    assert rows == [Row(pair="p", verdict="v")]
    assert [problem.split(": ")[1] for problem in problems] == ["line 3", "line 4", "line 5", "line 6"]


def test_a_long_paper_is_cut_before_the_section_that_does_not_fit() -> None:
    paper = "\\section{A}\n" + "a" * 80 + "\n\\section{B}\n" + "b" * 80
    assert cut_paper(paper, 100) == (paper, "")
    shown, note = cut_paper(paper, 30)
    assert shown.endswith("a\n")
    assert "1 sections" in note
    assert cut_paper("x" * 50, 10)[0] == "x" * 40
