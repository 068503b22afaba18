"""Rows of the benchmark's files: malformed ones are counted."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.ablation_bench.instances import load, source

GOLD = {"name": "No steam", "ablated_part": "steam", "action": "REMOVE"}
ROW = {
    "id": "loaf",
    "paper_title": "Bread",
    "paper_abstract": "On crust.",
    "paper_path": "papers/loaf",
    "ablations_in_paper": json.dumps([GOLD]),
    "review_text": json.dumps(["Try it without steam."]),
    "num_ablation_suggestions": 1,
    "year": 2024,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "papers" / "loaf").mkdir(parents=True)
    (tmp_path / "papers" / "loaf" / "main.tex").write_text("\\section{Steam}")
    (tmp_path / "secret.txt").write_text("key")
    (tmp_path / "papers" / "loaf" / "notes.txt").symlink_to(tmp_path / "secret.txt")
    return tmp_path


def write(folder: Path, *rows: object) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_rows_of_both_tasks_are_read_without_links_out_of_the_folder(folder: Path) -> None:
    path = write(folder, ROW, "")
    (author,), (reviewer,) = load(path, "author").instances, load(path, "reviewer").instances
    assert [gold.name for gold in author.golds] == ["No steam"]
    assert (reviewer.reviews, reviewer.suggestions) == (("Try it without steam.",), 1)
    text = source(author.paper)
    assert ("\\section{Steam}" in text, "key" in text) == (True, False)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "JSON"),
        ({**ROW, "id": ""}, "id"),
        ({**ROW, "paper_path": "papers/none"}, "missing"),
        ({**ROW, "paper_path": "/etc/hostname"}, "outside"),
        ({**ROW, "paper_path": "papers/pointers"}, "git lfs"),
        ({**ROW, "ablations_in_paper": "none"}, "ablations_in_paper"),
        ({**ROW, "ablations_in_paper": "[]"}, "without ablations"),
        ({**ROW, "ablations_in_paper": [{**GOLD, "action": "TUNE"}]}, "action"),
        (ROW, "id used twice"),
    ],
)
def test_what_cannot_be_used_is_counted(folder: Path, row: dict[str, Any] | str, problem: str) -> None:
    (folder / "papers" / "pointers").mkdir()
    (folder / "papers" / "pointers" / "main.tex").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1")
    loaded = load(write(folder, ROW, row), "author")
    assert [instance.id for instance in loaded.instances] == ["loaf"]
    ((found, count),) = loaded.problems.items()
    assert (problem in found, count) == (True, 1)


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
