"""Groups search results: techniques above and below one another are one row, led by the best match."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from xkg.model import paper_of

MOST_RELATIVES = 5

OWN_ROWS, _CONSIDERED = 3, 10
"""Rows of each need that stay rows among those of all, and the number of techniques that they are chosen from."""

CROWDED_OUT = 5
"""How many rows after the first are named with the rows of their papers."""

_CACHED = 4096
SPECIFIC = 0.8
"""A technique is matched by the text of its parts too. A part that matches at least this share as well leads the row,
with the technique inside it."""


@dataclass
class Group:
    lead: str
    relatives: list[str] = field(default_factory=list)


def apart(needs: Sequence[Mapping[str, float]]) -> frozenset[str]:
    """The techniques that lead the first rows for any one of several needs, each with strengths of its own: a query for
    several things asks for a method and for its steps separately."""
    return frozenset(row.lead for need in needs for row in grouped(need, most=_CONSIDERED)[:OWN_ROWS])


def grouped(
    strength: Mapping[str, float], first: Sequence[str] = (), most: int = 50, own: Collection[str] = ()
) -> list[Group]:
    """Rows, best first, for techniques with their strengths, the `most` strongest of which count. Those in `first` come
    first, and lead whatever their parts are like; those in `own` have rows of their own. Any other stands in one row
    only, as do two of one name in a paper."""
    ranked = strongest(strength, most)
    merit = {technique: strength[technique] for technique in ranked}
    broad: dict[str, list[str]] = {}
    leading = frozenset(first)
    protected = leading.union(own)
    for technique in ranked:
        for ancestor in kin(technique)[1:]:
            if ancestor in merit and ancestor not in protected and merit[technique] >= SPECIFIC * merit[ancestor]:
                broad.setdefault(ancestor, []).append(technique)
    for technique in ranked:
        if technique in broad:
            best = max(broad[technique], key=lambda part: merit[part])
            merit[best] = max(merit[best], merit[technique])
    leads = [technique for technique in ranked if technique not in broad and technique not in leading]
    leads.sort(key=lambda technique: -merit[technique])
    rows = _Rows()
    # Techniques that yield to a part come last, in case that part went into another row.
    for technique in [*first, *leads, *broad]:
        if rows.of(technique) is None or (technique in own and not rows.named(technique)):
            rows.open(technique)
    for technique in [*first, *ranked]:
        if rows.led(technique):
            continue
        group = rows.of(technique)
        if group is not None and technique not in group.relatives:
            group.relatives.append(technique)
    return rows.groups


def strongest(strength: Mapping[str, float], most: int) -> list[str]:
    """At most so many techniques, the strongest first; of equally strong ones those with the lower id."""
    if len(strength) > most > 0:
        least = sorted(strength.values(), reverse=True)[most - 1]  # numbers alone are sorted faster
        strength = {technique: value for technique, value in strength.items() if value >= least}
    return sorted(strength, key=lambda technique: (-strength[technique], technique))[:most]


def spread(rows: Sequence[Group], strength: Mapping[str, float], k: int) -> list[Group]:
    """The same rows, reordered so that one paper has at most four fifths of the first `k`. Rows of other papers move up
    where they are at least half as strong as those that they pass."""
    allowed = k - k // 5
    counts: dict[str, int] = {}
    early: list[Group] = []
    waiting: list[Group] = []
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


def crowded_out(rows: Sequence[Group], k: int) -> list[Group]:
    """The rows, the first `k` of which have the leads of later rows of their papers among their relatives: who asks for
    the steps of a method may mean more of them than there are rows."""
    shown = [Group(row.lead, list(row.relatives)) for row in rows[:k]]
    for row in rows[k : k + CROWDED_OUT]:
        beside = (other for other in shown if paper_of(other.lead) == paper_of(row.lead))
        with_room = next((other for other in beside if len(other.relatives) < MOST_RELATIVES), None)
        if with_room is not None:
            with_room.relatives.append(row.lead)
    return [*shown, *rows[k:]]


def same_name(technique: str, other: str) -> bool:
    """Whether two techniques of a paper have one name."""
    return _name(technique) == _name(other)


class _Rows:
    """Rows as they are opened, and which of them a technique belongs to: the first of those that it is related to."""

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self._leads: dict[str, int] = {}
        self._above: dict[str, int] = {}
        self._names: dict[tuple[str, str], int] = {}

    def open(self, technique: str) -> None:
        number = len(self.groups)
        self.groups.append(Group(technique))
        self._leads[technique] = number
        for ancestor in kin(technique)[1:]:
            self._above.setdefault(ancestor, number)
        self._names.setdefault(_name(technique), number)

    def led(self, technique: str) -> bool:
        return technique in self._leads

    def named(self, technique: str) -> bool:
        """Whether a row of its paper has its name."""
        return _name(technique) in self._names

    def of(self, technique: str) -> Group | None:
        none = len(self.groups)
        number = min(self._above.get(technique, none), self._names.get(_name(technique), none))
        for ancestor in kin(technique):
            number = min(number, self._leads.get(ancestor, none))
        return self.groups[number] if number < none else None


@lru_cache(_CACHED)
def kin(technique: str) -> tuple[str, ...]:
    """A technique and those that it stands under, the nearest first."""
    start = technique.find("#") + 1
    chain = [technique]
    while (cut := technique.rfind("/", start)) >= 0:
        technique = technique[:cut]
        chain.append(technique)
    return tuple(chain)


def above(ancestor: str, technique: str) -> bool:
    return technique.startswith(ancestor + "/")


@lru_cache(_CACHED)
def _name(technique: str) -> tuple[str, str]:
    """The paper and the name: a technique that a paper uses in two places is one answer."""
    return paper_of(technique), technique.rpartition("#")[2].rpartition("/")[2]
