"""Defines a method's components and their ablation candidates. A candidate is an exact source change that ablates one
component."""

import hashlib
import json
from collections.abc import Sequence
from typing import Literal

from xkg.errors import InputError
from xkg.value import Value

Kind = Literal["toggle", "scale", "replace", "grid"]
KINDS: tuple[Kind, ...] = ("toggle", "scale", "replace", "grid")


COMMAND = ""
"""A change with this path modifies the task's `run` command, not a file."""


class Place(Value):
    """A range of lines in a file of the working copy. Line numbers are 1-based and inclusive. `symbol` is the enclosing
    function or class, or '' if unknown."""

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
        """Returns whether another place lies within this one."""
        return self.path == other.path and self.start_line <= other.start_line and other.end_line <= self.end_line

    def meets(self, other: "Place") -> bool:
        return self.path == other.path and self.start_line <= other.end_line and other.start_line <= self.end_line


class Replacement(Value):
    """One exact change to a file or to the command (`COMMAND`). `new` replaces `old`, the characters from `start` to
    `end` (exclusive)."""

    path: str
    start: int
    end: int
    old: str
    new: str


class Candidate(Value):
    """One ablation. `value` is the new value as it appears in the code, and `baseline_value` is the current value. All
    `replacements` lie within `places`. `by_model` is set if a language model wrote the change. `probe` is an optional
    variant of the change that ends the run as soon as the changed value is used."""

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
        """Returns the first 12 hex digits of the change's hash. Equal changes have equal ids."""
        changed = [replacement.model_dump() for replacement in self.replacements]
        return hashlib.sha256(json.dumps(changed, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Component(Value):
    """A part of the method that can be ablated. `technique` is the id of a technique in the graph, or None for a
    component found only in the code. `weight` (0 to 1) is the expected importance before any run, and `reasons` explain
    the weight. `order` is the component's rank, and `about` is its definition."""

    id: str
    name: str
    places: tuple[Place, ...]
    technique: str | None = None
    weight: float = 0.5
    order: int = 0
    reasons: tuple[str, ...] = ()
    about: str = ""


NOT_RUN = "the baseline does not run it"


class LeftOut(Value):
    """Code that is not ablated, with a short reason."""

    name: str
    place: Place
    reason: str


class Space(Value):
    """The components, their candidates (most promising first) and the code that was left out."""

    components: tuple[Component, ...]
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...] = ()

    def of(self, component: str) -> tuple[Candidate, ...]:
        return tuple(c for c in self.candidates if c.component == component)

    def only(self, names: Sequence[str]) -> "Space":
        """Restricts the space to components whose names contain one of these strings. Raises `InputError` if no
        component matches."""
        wanted = [name.casefold() for name in names]
        components = tuple(
            c for c in self.components if any(w in c.name.casefold() or w == c.id.casefold() for w in wanted)
        )
        ids = {c.id for c in components}
        if not ids:
            raise InputError(f"no component matches {', '.join(names)}; a run without --only reports all components")
        candidates = tuple(c for c in self.candidates if c.component in ids)
        return self.model_copy(update={"components": components, "candidates": candidates})
