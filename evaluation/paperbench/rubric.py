"""Weighted rubric trees in PaperBench's format (arXiv 2504.01848, section 2.2).

A rubric is a JSON object {id, requirements, weight, sub_tasks, task_category}. Leaves are judged, and a node's score is
the mean of its sub-tasks' scores by their weights. `code_development` keeps only the leaves of that category."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evaluation.inputs.rows import read_json
from xkg.errors import InputError
from xkg.value import Value

CODE_DEVELOPMENT = "Code Development"
CATEGORIES = (CODE_DEVELOPMENT, "Code Execution", "Result Analysis")

_DEEPEST = 40
_MOST = 20_000


class RubricNode(Value):
    """A requirement. `category` is set for leaves only; `weight` is relative to its siblings."""

    id: str
    requirements: str
    weight: float
    category: str | None = None
    sub_tasks: tuple["RubricNode", ...] = ()

    @property
    def leaves(self) -> "Iterator[RubricNode]":
        if not self.sub_tasks:
            yield self
        for part in self.sub_tasks:
            yield from part.leaves

    def shares(self, of: float = 1.0) -> Iterator[tuple["RubricNode", float]]:
        """Each leaf with its share of the tree's score; the shares add up to 1."""
        if not self.sub_tasks:
            yield self, of
        total = math.fsum(part.weight for part in self.sub_tasks)
        for part in self.sub_tasks:
            yield from part.shares(of * part.weight / total)


class RubricScore(Value):
    """`score` is that of the whole tree in 0..1, `by_category` that of each category's leaves alone. `unjudged` leaves
    have no verdict and count as not met."""

    score: float
    by_category: dict[str, float]
    leaves: int
    unjudged: tuple[str, ...]


def read_rubric(path: Path) -> RubricNode:
    """Raises `InputError` naming the file, the node and the error."""
    value = read_json(path)
    ids: set[str] = set()
    try:
        return _node(value, "the rubric", ids, 0)
    except ValueError as error:
        raise InputError(f"{path}: {error}; correct it") from error


def _node(value: Any, where: str, ids: set[str], depth: int) -> RubricNode:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no object")
    identity, requirements, weight = value.get("id"), value.get("requirements"), value.get("weight", 1)
    if not isinstance(identity, str) or not identity:
        raise ValueError(f"{where} has no id")
    where = f"node {identity[:60]}"
    identity = _unique(identity, ids)
    ids.add(identity)
    if len(ids) > _MOST or depth > _DEEPEST:
        raise ValueError(f"more than {_MOST:,} nodes or {_DEEPEST} levels")
    if not isinstance(requirements, str) or not requirements.strip():
        raise ValueError(f"{where} has no requirements")
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not math.isfinite(weight) or weight < 0:
        raise ValueError(f"{where} has a weight that is no number of 0 or more")
    parts = value.get("sub_tasks") or []
    if not isinstance(parts, list):
        raise ValueError(f"sub_tasks of {where} are no list")
    made = tuple(_node(part, f"a sub-task of {where}", ids, depth + 1) for part in parts)
    if made and not math.fsum(part.weight for part in made) > 0:
        raise ValueError(f"the sub-tasks of {where} have no weight")
    category = value.get("task_category")
    if not made and category not in CATEGORIES:
        raise ValueError(f"{where} is a leaf whose task_category is none of {', '.join(CATEGORIES)}")
    return RubricNode(
        id=identity,
        requirements=requirements,
        weight=float(weight),
        category=None if made else category,
        sub_tasks=made,
    )


def _unique(identity: str, ids: set[str]) -> str:
    """The id, with a number if another node has it: published rubrics repeat ids of leaves that are judged
    separately."""
    number, unique = 1, identity
    while unique in ids:
        number += 1
        unique = f"{identity}-{number}"
    return unique


def only(tree: RubricNode, category: str = CODE_DEVELOPMENT) -> RubricNode | None:
    """The tree with the leaves of one category and the nodes above them, with their weights; None if none of them has a
    weight above zero."""
    if not tree.sub_tasks:
        return tree if tree.category == category else None
    parts = tuple(part for each in tree.sub_tasks if (part := only(each, category)) is not None)
    weighing = math.fsum(part.weight for part in parts) > 0
    return tree.model_copy(update={"sub_tasks": parts}) if weighing else None


def score(tree: RubricNode, judged: Mapping[str, float]) -> RubricScore:
    """The score of a tree from its leaves' scores (0..1) by id. Raises `ValueError` for a score out of bounds."""
    if wrong := [leaf for leaf, value in judged.items() if not 0 <= value <= 1]:
        raise ValueError(f"the score of {wrong[0]} is not in 0..1")
    leaves = list(tree.leaves)
    by_category = {}
    for category in CATEGORIES:
        part = only(tree, category)
        if part is not None:
            by_category[category] = _propagated(part, judged)
    return RubricScore(
        score=_propagated(tree, judged),
        by_category=by_category,
        leaves=len(leaves),
        unjudged=tuple(leaf.id for leaf in leaves if leaf.id not in judged),
    )


def _propagated(node: RubricNode, judged: Mapping[str, float]) -> float:
    if not node.sub_tasks:
        return judged.get(node.id, 0.0)
    total = math.fsum(part.weight for part in node.sub_tasks)
    return math.fsum(part.weight * _propagated(part, judged) for part in node.sub_tasks) / total
