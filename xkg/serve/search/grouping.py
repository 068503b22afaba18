"""Search rows: of techniques that stand above or below one another the one that answers best is the row."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from xkg.model import paper_of

MOST_RELATIVES = 5

OWN_ROWS, _LOOKED_AT = 3, 10
"""Rows of each need that stay rows among those of all, and of how many techniques they are made."""

_KEPT = 4096
SPECIFIC = 0.8
"""A technique is matched by all that is said of its parts. A part that matches at least this share as well is what was
meant: it is the row, and the technique stands inside it."""


@dataclass
class Family:
    lead: str
    relatives: list[str] = field(default_factory=list)


def apart(needs: Sequence[Mapping[str, float]]) -> frozenset[str]:
    """The techniques that lead the first rows for any one of several needs, each with strengths of its own: who asks
    for several things means a method and its steps each by itself."""
    return frozenset(row.lead for need in needs for row in families(need, most=_LOOKED_AT)[:OWN_ROWS])


def families(
    strength: Mapping[str, float], first: Sequence[str] = (), most: int = 50, own: Collection[str] = ()
) -> list[Family]:
    """Rows, best first, for techniques with their strengths, the `most` strongest of which count. Those in `first` come
    first, and lead whatever their parts are like; those in `own` have rows of their own. Any other stands in one row
    only, as do two of one name in a paper."""
    ranked = sorted(strength, key=lambda technique: (-strength[technique], technique))[:most]
    merit = {technique: strength[technique] for technique in ranked}
    broad: dict[str, list[str]] = {}
    leading = frozenset(first)
    kept = leading.union(own)
    for technique in ranked:
        for ancestor in kin(technique)[1:]:
            if ancestor in merit and ancestor not in kept and merit[technique] >= SPECIFIC * merit[ancestor]:
                broad.setdefault(ancestor, []).append(technique)
    for technique in ranked:
        if technique in broad:
            best = max(broad[technique], key=lambda part: merit[part])
            merit[best] = max(merit[best], merit[technique])
    leads = [technique for technique in ranked if technique not in broad and technique not in leading]
    leads.sort(key=lambda technique: -merit[technique])
    rows = _Rows()
    # What steps behind a part comes last, where that part itself went into another row.
    for technique in [*first, *leads, *broad]:
        if rows.of(technique) is None or (technique in own and not rows.named(technique)):
            rows.open(technique)
    for technique in [*first, *ranked]:
        family = rows.of(technique)
        if family is not None and not rows.led(technique) and technique not in family.relatives:
            family.relatives.append(technique)
    return rows.families


def spread(rows: Sequence[Family], strength: Mapping[str, float], k: int) -> list[Family]:
    """The same rows, of the first `k` of which one paper has no more than four fifths, so that another's way of doing
    it can be seen. Rows of other papers come up for that where they are at least half as strong as those that wait."""
    allowed = k - k // 5
    counts: dict[str, int] = {}
    early: list[Family] = []
    waiting: list[Family] = []
    for row in rows:
        paper = paper_of(row.lead)
        crowded = counts.get(paper, 0) >= allowed
        weak = waiting and strength.get(row.lead, 1.0) < strength.get(waiting[0].lead, 1.0) / 2
        if len(early) >= k or crowded or weak:
            waiting.append(row)
        else:
            early.append(row)
            counts[paper] = counts.get(paper, 0) + 1
    return [*early, *waiting]


class _Rows:
    """Rows as they are opened, and which of them a technique belongs to: the first of those that it is related to."""

    def __init__(self) -> None:
        self.families: list[Family] = []
        self._leads: dict[str, int] = {}
        self._above: dict[str, int] = {}
        self._names: dict[tuple[str, str], int] = {}

    def open(self, technique: str) -> None:
        number = len(self.families)
        self.families.append(Family(technique))
        self._leads[technique] = number
        for ancestor in kin(technique)[1:]:
            self._above.setdefault(ancestor, number)
        self._names.setdefault(_name(technique), number)

    def led(self, technique: str) -> bool:
        return technique in self._leads

    def named(self, technique: str) -> bool:
        """Whether a row of its paper has its name."""
        return _name(technique) in self._names

    def of(self, technique: str) -> Family | None:
        numbers = [self._leads[t] for t in kin(technique) if t in self._leads]
        if technique in self._above:
            numbers.append(self._above[technique])
        if (name := _name(technique)) in self._names:
            numbers.append(self._names[name])
        return self.families[min(numbers)] if numbers else None


@lru_cache(_KEPT)
def kin(technique: str) -> tuple[str, ...]:
    """A technique and those that it stands under, the nearest first."""
    start = technique.find("#") + 1
    found = [technique]
    while (cut := technique.rfind("/", start)) >= 0:
        technique = technique[:cut]
        found.append(technique)
    return tuple(found)


def above(ancestor: str, technique: str) -> bool:
    return technique.startswith(ancestor + "/")


@lru_cache(_KEPT)
def _name(technique: str) -> tuple[str, str]:
    """A paper that uses a technique in two places may have it twice, which is one answer."""
    return paper_of(technique), technique.rpartition("#")[2].rpartition("/")[2]
