"""Reads and scores weighted rubric trees in PaperBench's format (arXiv 2504.01848, section 2.2).

A rubric is a JSON object {id, requirements, weight, sub_tasks, task_category}. Only leaves are judged. The score of any
other node is the weighted mean of its sub-tasks' scores. `only` keeps the leaves in one category."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evaluation.ablation_bench.plans import Text
from evaluation.inputs.rows import first_error, read_json
from xkg.errors import InputError
from xkg.value import Value

Category = Literal["Code Development", "Code Execution", "Result Analysis"]
CODE_DEVELOPMENT: Category = "Code Development"
CATEGORIES: tuple[Category, ...] = (CODE_DEVELOPMENT, "Code Execution", "Result Analysis")


class RubricNode(BaseModel):
    """A requirement in a rubric tree. Leaves must have a `category`. `weight` is relative to the weights of the node's
    siblings."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    id: Text
    requirements: Text
    weight: float = Field(1, ge=0, strict=True, allow_inf_nan=False)
    sub_tasks: tuple["RubricNode", ...] = ()
    category: Category | None = Field(None, alias="task_category")

    @model_validator(mode="after")
    def _scored(self) -> "RubricNode":
        if not self.sub_tasks and self.category is None:
            raise ValueError(f"{self.id} is a leaf without a task_category")
        if self.sub_tasks and not math.fsum(part.weight for part in self.sub_tasks) > 0:
            raise ValueError(f"the sub-tasks of {self.id} have no weight")
        return self

    @property
    def leaves(self) -> "Iterator[RubricNode]":
        if not self.sub_tasks:
            yield self
        for part in self.sub_tasks:
            yield from part.leaves


class RubricScore(Value):
    """A tree's scores. `score` is the whole tree's score (0 to 1). `by_category` contains one score per category,
    computed from only the leaves in that category. `unjudged` lists the leaves without a verdict, which count as not
    met."""

    score: float
    by_category: dict[str, float]
    leaves: int
    unjudged: tuple[str, ...]


def read_rubric(path: Path) -> RubricNode:
    """Reads the rubric tree in a file. Appends a number to duplicate node ids, because published rubrics reuse ids for
    leaves that are judged separately. Raises `InputError` with the file, the node and the error."""
    try:
        return _renamed(RubricNode.model_validate(read_json(path)), Counter())
    except (ValidationError, RecursionError) as error:
        why = first_error(error) if isinstance(error, ValidationError) else "it is too deep"
        raise InputError(f"{path}: {why}; correct it") from error


def _renamed(node: RubricNode, ids: Counter[str]) -> RubricNode:
    ids[node.id] += 1
    name = node.id if ids[node.id] == 1 else f"{node.id}-{ids[node.id]}"
    if name != node.id and ids[name]:
        return _renamed(node, ids)
    ids[name] |= 1
    return node.model_copy(update={"id": name, "sub_tasks": tuple(_renamed(part, ids) for part in node.sub_tasks)})


def only(tree: RubricNode, category: Category = CODE_DEVELOPMENT) -> RubricNode | None:
    """Returns the tree reduced to the leaves in one category and the nodes above them, with unchanged weights. Returns
    None if no leaf in the category has a weight above zero."""
    if not tree.sub_tasks:
        return tree if tree.category == category else None
    parts = tuple(part for each in tree.sub_tasks if (part := only(each, category)) is not None)
    weighing = math.fsum(part.weight for part in parts) > 0
    return tree.model_copy(update={"sub_tasks": parts}) if weighing else None


def score(tree: RubricNode, judged: Mapping[str, float]) -> RubricScore:
    """Computes the score of a tree from the scores of its leaves (0 to 1), keyed by id."""
    leaves = [leaf.id for leaf in tree.leaves]
    parts = {category: part for category in CATEGORIES if (part := only(tree, category)) is not None}
    return RubricScore(
        score=_propagated(tree, judged),
        by_category={category: _propagated(part, judged) for category, part in parts.items()},
        leaves=len(leaves),
        unjudged=tuple(leaf for leaf in leaves if leaf not in judged),
    )


def _propagated(node: RubricNode, judged: Mapping[str, float]) -> float:
    if not node.sub_tasks:
        return judged.get(node.id, 0.0)
    total = math.fsum(part.weight for part in node.sub_tasks)
    return math.fsum(part.weight * _propagated(part, judged) for part in node.sub_tasks) / total
