"""Reads human-made technique hierarchies. A JSON file contains one object per paper, or a list of objects.

    {"paper": "<id or title>", "labelled_by": "a reader of the paper, before any output was seen",
     "techniques": [{"name": "Tent", "aliases": ["test entropy minimization"], "weight": 1.0, "components": [...]}]}

`weight` says how important it is that a graph contains the technique (any positive number, 1 by default). A weight of 0
marks an optional technique, such as a baseline or background."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from evaluation.ablation_bench.plans import Text
from evaluation.inputs.rows import first_error, read_json
from xkg.value import Value


class GoldTechnique(Value):
    """A technique in a hierarchy. `path` lists the names from the top of the hierarchy down to the technique."""

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
    """One paper's techniques in preorder."""

    paper: str
    labelled_by: str
    techniques: tuple[GoldTechnique, ...]


class _Technique(BaseModel):
    name: Text
    aliases: tuple[str, ...] = ()
    weight: float = Field(1.0, ge=0, strict=True, allow_inf_nan=False)
    components: tuple["_Technique", ...] = ()

    def walk(self, above: tuple[str, ...]) -> Iterator[GoldTechnique]:
        path = (*above, self.name)
        yield GoldTechnique(path=path, aliases=self.aliases, weight=self.weight)
        for component in self.components:
            yield from component.walk(path)


class _Paper(BaseModel):
    paper: Text
    labelled_by: str = "not stated"
    techniques: tuple[_Technique, ...]


def read_hierarchies(path: Path) -> tuple[list[GoldHierarchy], list[str]]:
    """Returns the hierarchies in a file, and one line for each malformed hierarchy. Raises `InputError` for a file that
    cannot be read or is not JSON."""
    value = read_json(path)
    found: list[GoldHierarchy] = []
    problems: list[str] = []
    for number, each in enumerate(value if isinstance(value, list) else [value]):
        try:
            paper = _Paper.model_validate(each)
        except ValidationError as error:
            problems.append(f"{path}: [{number}].{first_error(error)}")
            continue
        techniques = tuple(gold for technique in paper.techniques for gold in technique.walk(()))
        found.append(GoldHierarchy(paper=paper.paper, labelled_by=paper.labelled_by, techniques=techniques))
    return found, problems
