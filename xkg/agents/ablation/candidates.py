"""What can be tried: components of a method, and candidates, each an exact change of source that ablates one."""

import hashlib
import json
from typing import Literal

from xkg.value import Value

Kind = Literal["toggle", "scale", "replace", "grid"]
KINDS: tuple[Kind, ...] = ("toggle", "scale", "replace", "grid")


COMMAND = ""
"""The path that stands for the `run` command of the task."""


class Place(Value):
    """Lines of a file of the working copy, 1-based and inclusive; `symbol` is what they lie in, '' where unknown."""

    path: str
    start_line: int
    end_line: int
    symbol: str = ""

    def __str__(self) -> str:
        if self.path == COMMAND:
            return "the command"
        lines = str(self.start_line) if self.start_line == self.end_line else f"{self.start_line}-{self.end_line}"
        return f"{self.path}:{lines}" + (f" ({self.symbol})" if self.symbol else "")

    def holds(self, other: "Place") -> bool:
        """Whether the other lines lie within these."""
        return self.path == other.path and self.start_line <= other.start_line and other.end_line <= self.end_line

    def meets(self, other: "Place") -> bool:
        return self.path == other.path and self.start_line <= other.end_line and other.start_line <= self.end_line


class Replacement(Value):
    """One exact change of a file, or of the command (`COMMAND`): the characters from `start` to `end` (offsets, end
    exclusive), which are `old`, become `new`."""

    path: str
    start: int
    end: int
    old: str
    new: str


class Candidate(Value):
    """A specification of one ablation. `value` is what the mutation sets, as written; `replacements` carry it out, and
    lie in `places`. `baseline_value` is what stands there. `by_model`: a language model wrote it. `probe` puts a value
    in the same places that ends the run when it is used; none where there is no such value."""

    component: str
    kind: Kind
    value: str
    baseline_value: str
    places: tuple[Place, ...]
    description: str
    replacements: tuple[Replacement, ...]
    by_model: bool = False
    probe: tuple[Replacement, ...] = ()

    @property
    def id(self) -> str:
        """12 hex digits over what is changed: equal changes have equal ids."""
        changed = [replacement.model_dump() for replacement in self.replacements]
        return hashlib.sha256(json.dumps(changed, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Component(Value):
    """A part of the method that can be ablated. `technique` is its id in the graph, None for one that only the code
    shows; `weight` (0..1) is how much it is expected to matter before anything is run, `reasons` say why; `order` is
    its position in the hierarchy, `about` its definition."""

    id: str
    name: str
    places: tuple[Place, ...]
    technique: str | None = None
    weight: float = 0.5
    order: int = 0
    reasons: tuple[str, ...] = ()
    about: str = ""


class LeftOut(Value):
    """Something of the code that is not ablated, with the reason in a few words."""

    name: str
    place: Place
    reason: str


class Space(Value):
    """Components, their candidates in the order in which they are worth trying, and what was left out."""

    components: tuple[Component, ...]
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...] = ()

    def of(self, component: str) -> tuple[Candidate, ...]:
        return tuple(c for c in self.candidates if c.component == component)
