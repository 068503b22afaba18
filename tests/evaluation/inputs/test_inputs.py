"""Inputs of measurements: graphs, rows, human-made hierarchies, and parameters of tasks."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation import refusals
from evaluation.construction.hierarchy import read_hierarchies
from evaluation.inputs.graph import read_graph
from evaluation.inputs.inspect_tasks import cut_paper
from evaluation.inputs.rows import read_rows
from tests.evaluation.graphs import files, stored
from xkg.errors import InputError
from xkg.value import Value


class Row(Value):
    pair: str
    verdict: str


def test_a_folder_of_graph_files_with_one_that_is_broken(tmp_path: Path) -> None:
    (files(tmp_path) / "two.json").write_text("{")
    graph = read_graph(tmp_path)
    assert [bundle.paper.title for bundle in graph.bundles] == ["Tent"]
    (problem,) = graph.problems
    assert "two.json" in problem


def test_rows_that_are_malformed_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"pair": "p", "verdict": "v"}\n\n{"pair": 3}\nnot json\n\xff\n[]\n')
    rows, problems = read_rows(file, Row)
    assert rows == [Row(pair="p", verdict="v")]
    assert [problem.split(": ")[1] for problem in problems] == ["line 3", "line 4", "line 5", "line 6"]


def test_gold_of_another_graph_is_refused(tmp_path: Path) -> None:
    gold = {"id": "a", "kind": "short", "query": "entropy", "gold": [["title:tent#of-another-graph"]]}
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold))
    with pytest.raises(InputError, match="title:tent#of-another-graph"):
        refusals.main([tmp_path / "gold.jsonl"], kg=stored(tmp_path))


HIERARCHY = {
    "paper": "title:p",
    "techniques": [
        {"name": "Top", "weight": 2, "components": [{"name": " Part ", "aliases": ["P"]}]},
        {"name": "Other"},
    ],
}


def hierarchies(folder: Path, value: object) -> tuple[list[Any], list[str]]:
    (folder / "gold.json").write_text(json.dumps(value))
    return read_hierarchies(folder / "gold.json")


def test_a_hierarchy_is_a_walk_and_malformed_ones_are_counted(tmp_path: Path) -> None:
    wrong = (
        {"name": ""},
        {"name": "A", "weight": -1},
        {"name": "B", "weight": True},
        {"name": "C", "aliases": "c"},
        "D",
    )
    papers = [{"paper": "p", "techniques": [technique]} for technique in wrong]
    (paper,), problems = hierarchies(tmp_path, [HIERARCHY, {"techniques": []}, *papers])
    assert [(t.path, t.weight, t.aliases) for t in paper.techniques] == [
        (("Top",), 2, ()),
        (("Top", "Part"), 1, ("P",)),
        (("Other",), 1, ()),
    ]
    assert len(problems) == 6


def test_a_long_paper_is_cut_before_the_section_that_does_not_fit() -> None:
    paper = "\\section{A}\n" + "a" * 80 + "\n\\section{B}\n" + "b" * 80
    assert cut_paper(paper, 100) == (paper, "")
    shown, note = cut_paper(paper, 30)
    assert shown.endswith("a\n")
    assert "1 sections" in note
    assert cut_paper("x" * 50, 10)[0] == "x" * 40
