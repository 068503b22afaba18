"""Defines what can be tried: components of a method, and candidates. Each candidate is an exact source change that
ablates one component."""

import hashlib
import json
from typing import Literal

from xkg.value import Value

Kind = Literal["toggle", "scale", "replace", "grid"]
KINDS: tuple[Kind, ...] = ("toggle", "scale", "replace", "grid")


COMMAND = ""
"""The path that represents the task's `run` command in a change."""


class Place(Value):
    """Lines of a file in the working copy, 1-based and inclusive. `symbol` is the enclosing function or class, or '' if
    unknown."""

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
        """Whether the other lines lie within these lines."""
        return self.path == other.path and self.start_line <= other.start_line and other.end_line <= self.end_line

    def meets(self, other: "Place") -> bool:
        return self.path == other.path and self.start_line <= other.end_line and other.start_line <= self.end_line


class Replacement(Value):
    """One exact change to a file, or to the command (`COMMAND`). Replaces `old`, the characters from offset `start` up
    to, but not including, `end`, with `new`."""

    path: str
    start: int
    end: int
    old: str
    new: str


class Candidate(Value):
    """One ablation. `value` is the new value as written, and `baseline_value` the current one. `replacements` make up
    the change and stay within `places`. `by_model` means that a language model wrote it. `probe` is a variant of the
    change, if there is one, that inserts a value that ends the run as soon as it is used."""

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
        """The first 12 hex digits of a hash of the change. Equal changes have equal ids."""
        changed = [replacement.model_dump() for replacement in self.replacements]
        return hashlib.sha256(json.dumps(changed, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Component(Value):
    """A part of the method that can be ablated. `technique` is its id in the graph, or None if it was found only in the
    code. `weight` (0..1) is its expected importance before any run, and `reasons` explain the weight. `order` is its
    position in the hierarchy, and `about` is its definition."""

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
    """Components, their candidates (most promising first), and the code that was left out."""

    components: tuple[Component, ...]
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...] = ()

    def of(self, component: str) -> tuple[Candidate, ...]:
        return tuple(c for c in self.candidates if c.component == component)
