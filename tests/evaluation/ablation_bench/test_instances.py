import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.ablation_bench.instances import load

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
    return tmp_path


def write(folder: Path, *rows: object) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({**ROW, "paper_path": "/etc/hostname"}, "outside"),
        ({**ROW, "paper_path": "papers/pointers"}, "git lfs"),
        ({**ROW, "ablations_in_paper": [{**GOLD, "action": "TUNE"}]}, "action"),
        (ROW, "id used twice"),
    ],
)
def test_what_cannot_be_used_is_counted(folder: Path, row: dict[str, Any], problem: str) -> None:
    (folder / "papers" / "pointers").mkdir()
    (folder / "papers" / "pointers" / "main.tex").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1")
    loaded = load(write(folder, ROW, row), "author")
    assert [instance.id for instance in loaded.instances] == ["loaf"]
    ((found, count),) = loaded.problems.items()
    assert (problem in found, count) == (True, 1)
