"""Rows of the benchmark's files: malformed ones are counted."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.ablation_bench.instances.rows import load, source

GOLD = {"name": "No steam", "ablated_part": "steam", "action": "REMOVE", "metrics": ["volume"]}
ROW = {
    "id": "loaf",
    "paper_title": "Bread",
    "paper_abstract": "On crust.",
    "paper_path": "papers/loaf",
    "ablations_in_paper": json.dumps([GOLD]),
    "review_text": json.dumps(["Try it without steam."]),
    "num_ablation_suggestions": 1,
    "year": 2024,
    "venue": "",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "papers" / "loaf").mkdir(parents=True)
    (tmp_path / "papers" / "loaf" / "main.tex").write_text("\\section{Steam}")
    return tmp_path


def write(folder: Path, *rows: object) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_rows_of_both_tasks_are_read(folder: Path) -> None:
    path = write(folder, ROW, "")
    (author,), (reviewer,) = load(path, "author").instances, load(path, "reviewer").instances
    assert [gold.name for gold in author.golds] == ["No steam"]
    assert (reviewer.reviews, reviewer.suggestions) == (("Try it without steam.",), 1)
    assert author.groups == {"year": "2024"}
    assert "\\section{Steam}" in source(author.paper)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "row that is no JSON object"),
        ({**ROW, "id": ""}, "row without id, paper_title, paper_abstract or paper_path"),
        ({**ROW, "paper_path": "papers/none"}, "paper that is missing"),
        ({**ROW, "paper_path": "/etc/hostname"}, "paper outside of the folder of the rows and the current one"),
        ({**ROW, "paper_path": "papers/pointers"}, "paper that git lfs has not fetched (git lfs pull)"),
        ({**ROW, "paper_path": "papers"}, "id used twice"),
        ({**ROW, "ablations_in_paper": "none"}, "ablations_in_paper that is no JSON list"),
        ({**ROW, "ablations_in_paper": "[]"}, "paper without ablations"),
        ({**ROW, "ablations_in_paper": [{**GOLD, "action": "TUNE"}]}, "ablation in paper: unknown action"),
        (ROW, "id used twice"),
    ],
)
def test_what_cannot_be_used_is_counted(folder: Path, row: dict[str, Any] | str, problem: str) -> None:
    (folder / "papers" / "pointers").mkdir()
    (folder / "papers" / "pointers" / "main.tex").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1")
    loaded = load(write(folder, ROW, row), "author")
    assert [instance.id for instance in loaded.instances] == ["loaf"]
    assert loaded.problems == {problem: 1}


def test_a_link_out_of_the_folder_is_not_read(folder: Path) -> None:
    (folder / "secret.txt").write_text("key")
    (folder / "papers" / "loaf" / "notes.txt").symlink_to(folder / "secret.txt")
    assert "key" not in source(folder / "papers" / "loaf")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*ROW, "x"]), inner, max_size=6),
    max_leaves=12,
)


@given(st.lists(json_values | st.text(max_size=20), max_size=4))
def test_any_file_is_read_row_by_row(tmp_path_factory: pytest.TempPathFactory, rows: list[object]) -> None:
    path = write(tmp_path_factory.mktemp("rows"), *rows)
    for task in ("author", "reviewer"):
        loaded = load(path, task)  # type: ignore[arg-type]
        assert len(loaded.instances) + loaded.problems.total() <= len(rows) * 21
