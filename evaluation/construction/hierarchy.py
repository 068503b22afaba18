"""Human-made hierarchies of techniques, as JSON: one object per paper, or a list of them.

    {"paper": "<id or title>", "labelled_by": "a reader of the paper, before any output was seen",
     "techniques": [{"name": "Tent", "aliases": ["test entropy minimization"], "weight": 1.0, "components": [...]}]}

`weight` is how important it is that a graph has the technique (any positive number, default 1). 0 marks one that a
graph may have but need not: a baseline, or background."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluation.inputs.rows import read_json
from xkg.errors import InputError
from xkg.value import Value

_DEEPEST = 30
_MOST = 5_000


class GoldTechnique(Value):
    """`path` are the names from the top of the hierarchy to this technique."""

    path: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    weight: float = 1.0

    @property
    def name(self) -> str:
        return self.path[-1]

    @property
    def parent(self) -> tuple[str, ...]:
        return self.path[:-1]


class GoldHierarchy(Value):
    """One paper's techniques as a preorder walk."""

    paper: str
    labelled_by: str
    techniques: tuple[GoldTechnique, ...]


def read_hierarchies(path: Path) -> tuple[list[GoldHierarchy], list[str]]:
    """The hierarchies of a file, and one line for each malformed part, which is left out with everything below it.
    Raises `InputError` for a file that cannot be read or is not JSON."""
    value = read_json(path)
    found: list[GoldHierarchy] = []
    problems: list[str] = []
    papers = value if isinstance(value, list) else [value]
    for number, paper in enumerate(papers):
        where = f"{path}: [{number}]" if isinstance(value, list) else f"{path}"
        if not isinstance(paper, dict) or not isinstance(paper.get("paper"), str) or not paper["paper"].strip():
            problems.append(f"{where}: names no paper")
            continue
        walked = list(_walk(paper.get("techniques"), (), f"{where}.techniques", problems))
        if len(walked) > _MOST:
            raise InputError(f"{path}: a paper has more than {_MOST:,} techniques; correct the file")
        found.append(
            GoldHierarchy(
                paper=paper["paper"],
                labelled_by=str(paper.get("labelled_by") or "not stated")[:200],
                techniques=tuple(walked),
            )
        )
    return found, problems


def _walk(items: Any, above: tuple[str, ...], where: str, problems: list[str]) -> Iterator[GoldTechnique]:
    if not isinstance(items, list):
        problems.append(f"{where}: is no list")
        return
    if len(above) >= _DEEPEST:
        problems.append(f"{where}: lies deeper than {_DEEPEST} levels")
        return
    for number, item in enumerate(items):
        at = f"{where}[{number}]"
        wrong = _wrong(item)
        if wrong:
            problems.append(f"{at}: {wrong}")
            continue
        path = (*above, item["name"].strip())
        yield GoldTechnique(path=path, aliases=tuple(item.get("aliases") or ()), weight=float(item.get("weight", 1.0)))
        if item.get("components"):
            yield from _walk(item["components"], path, f"{at}.components", problems)


def _wrong(item: Any) -> str:
    """The problem with a technique itself; '' if there is none."""
    if not isinstance(item, dict):
        return "is no object"
    name, aliases, weight = item.get("name"), item.get("aliases") or [], item.get("weight", 1.0)
    if not isinstance(name, str) or not name.strip():
        return "has no name"
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        return "aliases are no list of strings"
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not math.isfinite(weight) or weight < 0:
        return "weight is no number of 0 or more"
    return ""
