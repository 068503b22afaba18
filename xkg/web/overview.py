"""All papers of a generation as lines, filtered and ordered in memory: what the list and the map show pages of."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from xkg.model import Level
from xkg.store.graph_store import PaperLine, Snapshot

Order = Literal["proven", "title", "year", "techniques"]
ORDERS: tuple[Order, ...] = get_args(Order)
RUNS = Level.EXECUTED


@dataclass(frozen=True)
class Choice:
    """Which papers are shown. `text` is in the title or an author's name; `level` is one that code of the paper has, or
    a higher one; `origin` is `build` or `import`, empty for both."""

    text: str = ""
    first: int | None = None
    last: int | None = None
    level: Level | None = None
    origin: str = ""
    order: Order = "proven"


@dataclass(frozen=True)
class Overview:
    """The papers of one generation. `totals` counts code by level, over all papers."""

    generation: int
    lines: Sequence[PaperLine]
    _keys: Sequence[str] = field(repr=False)

    @cached_property
    def by_id(self) -> dict[str, PaperLine]:
        return {line.id: line for line in self.lines}

    @cached_property
    def totals(self) -> dict[Level, int]:
        return {level: sum(line.levels.get(level, 0) for line in self.lines) for level in Level}

    @cached_property
    def techniques(self) -> int:
        return sum(line.techniques for line in self.lines)

    @cached_property
    def years(self) -> tuple[int, int] | None:
        known = [line.year for line in self.lines if line.year is not None]
        return (min(known), max(known)) if known else None

    def chosen(self, choice: Choice) -> list[PaperLine]:
        """The papers that a choice means, in its order."""
        words = choice.text.casefold().split()
        return [
            self.lines[number]
            for number in self._ordered(choice.order)
            if all(word in self._keys[number] for word in words) and _fits(self.lines[number], choice)
        ]

    def _ordered(self, order: Order) -> Sequence[int]:
        if order not in self._orders:
            keys = {
                "title": lambda n: (self.lines[n].title.casefold(), n),
                "year": lambda n: (-(self.lines[n].year or 0), n),
                "techniques": lambda n: (-self.lines[n].techniques, n),
                "proven": lambda n: (-proven(self.lines[n]), -at_least(self.lines[n], Level.PARSED), n),
            }
            self._orders[order] = sorted(range(len(self.lines)), key=keys[order])
        return self._orders[order]

    @cached_property
    def _orders(self) -> dict[Order, Sequence[int]]:
        return {}


class Overviews:
    """The overview of the current generation, made once. Safe to use from several threads."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._current: Overview | None = None

    def of(self, snapshot: Snapshot) -> Overview:
        with self._turn:
            current = self._current
            if current is None or current.generation != snapshot.generation:
                lines = snapshot.paper_lines()
                keys = [" ".join((line.title, *line.authors)).casefold() for line in lines]
                current = self._current = Overview(snapshot.generation, lines, keys)
            return current


def at_least(line: PaperLine, level: Level) -> int:
    """How many code nodes of a paper have this level or a higher one."""
    return sum(count for own, count in line.levels.items() if own.rank >= level.rank)


def proven(line: PaperLine) -> float:
    """What is proven of a paper: its code nodes, each by the rung of its level, those that were run count most."""
    return sum(count * _WEIGHTS[level] for level, count in line.levels.items())


_WEIGHTS = {
    Level.NONE: 0.0, Level.PARSED: 0.05, Level.IMPORTED: 0.1, Level.EXECUTED: 0.6, Level.TESTED: 1.0,
    Level.FAITHFUL: 1.2,
}  # fmt: skip


def _fits(line: PaperLine, choice: Choice) -> bool:
    if choice.origin and line.origin != choice.origin:
        return False
    if (choice.first is not None or choice.last is not None) and line.year is None:
        return False
    if choice.first is not None and (line.year or 0) < choice.first:
        return False
    if choice.last is not None and (line.year or 0) > choice.last:
        return False
    return choice.level is None or at_least(line, choice.level) > 0
