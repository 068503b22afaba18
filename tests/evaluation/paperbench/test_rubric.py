import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.paperbench.rubric import CATEGORIES, RubricNode, read_rubric, score
from xkg.errors import InputError


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
    # method: (3 + 0 + 2) / 8; top: (2 * 5/8 + 1) / 3
    assert found.score == pytest.approx(0.75)
    assert found.by_category == {"Code Development": 0.75, "Code Execution": 0.5, "Result Analysis": 1.0}
    assert found.unjudged == ()


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "dictionary"),
        ({"requirements": "x"}, "id"),
        (node("top", leaf("a", -1)), r"sub_tasks\.0\.weight"),
        (node("top", leaf("a", True)), r"sub_tasks\.0\.weight"),
        (node("top", leaf("a", 0)), "no weight"),
        (node("top", leaf("a", 1, "Other")), "task_category"),
        (node("top"), "task_category"),
        ({"id": "top", "requirements": "x", "sub_tasks": "many"}, "sub_tasks"),
        ({"id": "top", "requirements": ""}, "requirements"),
    ],
)
def test_a_malformed_rubric_is_refused_by_node(tmp_path: Path, value: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_rubric(written(tmp_path, value))


def test_leaves_of_one_id_are_judged_apart(tmp_path: Path) -> None:
    tree = read_rubric(written(tmp_path, node("top", leaf("a"), leaf("a"), leaf("a-2"))))
    assert [each.id for each in tree.leaves] == ["a", "a-2", "a-2-2"]
    assert score(tree, {"a": 1}).score == pytest.approx(1 / 3)


TREES = st.recursive(
    st.builds(
        lambda weight, category: RubricNode(id="x", requirements="x", weight=weight, category=category),
        st.integers(1, 5), st.sampled_from(CATEGORIES),
    ),
    lambda inner: st.builds(
        lambda parts, weight: RubricNode(id="x", requirements="x", weight=weight, sub_tasks=tuple(parts)),
        st.lists(inner, min_size=1, max_size=4), st.integers(1, 5),
    ),
    max_leaves=12,
)  # fmt: skip


def named(tree: RubricNode, name: str = "0") -> RubricNode:
    parts = tuple(named(part, f"{name}.{n}") for n, part in enumerate(tree.sub_tasks))
    return tree.model_copy(update={"id": name, "sub_tasks": parts})


@given(TREES, st.data())
def test_a_score_is_a_share_in_any_order(tree: RubricNode, data) -> None:
    tree = named(tree)
    judged = {each.id: data.draw(st.floats(0, 1)) for each in tree.leaves}
    found = score(tree, judged).score
    assert 0 <= found <= 1 + 1e-12
    turned = tree.model_copy(update={"sub_tasks": tree.sub_tasks[::-1]})
    assert score(turned, judged).score == pytest.approx(found)
    better = dict.fromkeys(judged, 1.0)
    assert score(tree, better).score == pytest.approx(1)
