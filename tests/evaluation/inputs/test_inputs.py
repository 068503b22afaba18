"""Inputs of measurements: graphs, rows, human-made hierarchies, and parameters of tasks."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai import Task, task

from evaluation.construction.hierarchy import read_hierarchies
from evaluation.inputs.inspect_tasks import checked, cut_paper
from evaluation.inputs.rows import read_rows
from xkg.errors import InputError
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


def test_a_long_paper_is_cut_before_the_section_that_does_not_fit() -> None:
    paper = "\\section{A}\n" + "a" * 80 + "\n\\section{B}\n" + "b" * 80
    assert cut_paper(paper, 100) == (paper, "")
    shown, note = cut_paper(paper, 30)
    assert shown.endswith("a\n")
    assert "1 sections" in note
    assert cut_paper("x" * 50, 10)[0] == "x" * 40
