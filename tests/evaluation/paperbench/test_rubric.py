import json
from pathlib import Path

import pytest

from evaluation.paperbench.rubric import read_rubric, score


def leaf(name: str, weight: float = 1, category: str = "Code Development") -> dict:
    return {"id": name, "requirements": f"do {name}", "weight": weight, "sub_tasks": [], "task_category": category}


def node(name: str, *parts: dict, weight: float = 1) -> dict:
    return {"id": name, "requirements": name, "weight": weight, "sub_tasks": list(parts), "task_category": None}


def written(folder: Path, value: object) -> Path:
    (folder / "rubric.json").write_text(json.dumps(value))
    return folder / "rubric.json"


TREE = node(
    "top",
    node("method", leaf("a", 3), leaf("b", 1), leaf("run", 4, "Code Execution"), weight=2),
    node("results", leaf("c", 1, "Result Analysis"), weight=1),
)


def test_weights_are_propagated_by_hand(tmp_path: Path) -> None:
    tree = read_rubric(written(tmp_path, TREE))
    found = score(tree, {"a": 1, "b": 0, "c": 1, "run": 0.5})
    # The score of method is (3 + 0 + 2) / 8, and the top score is (2 * 5/8 + 1) / 3.
    assert found.score == pytest.approx(0.75)
    assert found.by_category == {"Code Development": 0.75, "Code Execution": 0.5, "Result Analysis": 1.0}
    assert found.unjudged == ()


def test_leaves_of_one_id_are_judged_apart(tmp_path: Path) -> None:
    tree = read_rubric(written(tmp_path, node("top", leaf("a"), leaf("a"), leaf("a-2"))))
    assert [each.id for each in tree.leaves] == ["a", "a-2", "a-2-2"]
    assert score(tree, {"a": 1}).score == pytest.approx(1 / 3)
