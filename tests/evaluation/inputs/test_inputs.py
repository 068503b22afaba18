"""Inputs of measurements: graphs, rows, human-made hierarchies, and parameters of tasks."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai import Task, task

from evaluation.construction.hierarchy import read_hierarchies
from evaluation.inputs.graph import read_graph
from evaluation.inputs.inspect_tasks import checked, cut_paper
from evaluation.inputs.rows import read_rows
from tests.conftest import ROOT
from tests.evaluation.graphs import files
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


HIERARCHY = {
    "paper": "title:p",
    "techniques": [
        {"name": "Top", "weight": 2, "components": [{"name": " Part ", "aliases": ["P"]}]},
        {"name": "Other"},
    ],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "weight", "aliases", "components", "techniques", "paper"]), inner)
    ),
    max_leaves=20,
)


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


@given(JSON)
def test_any_json_is_read_or_counted(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    found, problems = hierarchies(tmp_path_factory.mktemp("gold"), value)
    assert found or problems or value == []


@task
@checked
def loaves(folder: str, count: int = 1) -> Task:
    if count > 9:
        raise ValueError(f"too many for {folder}")
    return Task()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"folder": "x", "count": "two"}, "-T count=two"),
        ({"folder": 3}, "-T folder=3"),
        ({}, "'folder'"),
        ({"folder": "x", "count": 10}, "too many"),
    ],
)
def test_a_wrong_parameter_is_one_line(given: dict[str, Any], named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # the interpreter's own again, after the test
    with pytest.raises(InputError, match=named) as raised:
        loaves(**given)
    assert "\n" not in str(raised.value)


@pytest.mark.product("a process: four seconds", every=True)
def test_the_command_of_inspect_ends_with_that_line(tmp_path: Path) -> None:
    command = "-m inspect_ai eval evaluation/construction/tasks.py@exact_pairs --model mockllm/model -T graph=nowhere"
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "INSPECT_LOG_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_long_paper_is_cut_before_the_section_that_does_not_fit() -> None:
    paper = "\\section{A}\n" + "a" * 80 + "\n\\section{B}\n" + "b" * 80
    assert cut_paper(paper, 100) == (paper, "")
    shown, note = cut_paper(paper, 30)
    assert shown.endswith("a\n")
    assert "1 sections" in note
    assert cut_paper("x" * 50, 10)[0] == "x" * 40
