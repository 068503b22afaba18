"""Groups search results. Techniques above or below each other in a hierarchy share a row, led by the best match."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from xkg.model import paper_of

MOST_RELATIVES = 5

OWN_ROWS, _CONSIDERED = 3, 10
"""Number of separate rows for each part of a query, and the number of techniques from which to choose these rows."""

CROWDED_OUT = 5
"""Number of rows after the first `k` that are mentioned in rows from the same paper."""

_CACHED = 4096
SPECIFIC = 0.8
"""If a part of a technique has at least this fraction of the technique's strength, the part leads the row. A
technique's text includes its parts, so a technique often matches only because of one of its parts."""


@dataclass
class Group:
    lead: str
    relatives: list[str] = field(default_factory=list)


def apart(needs: Sequence[Mapping[str, float]]) -> frozenset[str]:
    """Returns the techniques that lead the first rows for at least one need. Each need has its own strengths. There may
    be several needs, because a query may mention both a method and its individual steps."""
    return frozenset(row.lead for need in needs for row in grouped(need, most=_CONSIDERED)[:OWN_ROWS])


def grouped(
    strength: Mapping[str, float], first: Sequence[str] = (), most: int = 50, own: Collection[str] = ()
) -> list[Group]:
    """Returns rows for the `most` strongest techniques, best first. Techniques in `first` come first and lead their
    rows, even if one of their parts is stronger. Techniques in `own` get separate rows. Any other technique is in only
    one row, and techniques with the same name in the same paper share a row."""
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
    # Techniques that are weaker than one of their parts come last, in case the stronger part is in a different row.
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
    """Returns the `most` strongest techniques, strongest first. Ties are in id order."""
    if len(strength) > most > 0:
        least = sorted(strength.values(), reverse=True)[most - 1]  # numbers sort faster than pairs
        strength = {technique: value for technique, value in strength.items() if value >= least}
    return sorted(strength, key=lambda technique: (-strength[technique], technique))[:most]


def crowded_out(rows: Sequence[Group], k: int) -> list[Group]:
    """Returns the rows. The leads of all rows after the first `k` are added as relatives to rows from the same paper.
    This helps if a query lists a method's steps and more than `k` steps match."""
    shown = [Group(row.lead, list(row.relatives)) for row in rows[:k]]
    for row in rows[k : k + CROWDED_OUT]:
        beside = (other for other in shown if paper_of(other.lead) == paper_of(row.lead))
        with_room = next((other for other in beside if len(other.relatives) < MOST_RELATIVES), None)
        if with_room is not None:
            with_room.relatives.append(row.lead)
    return [*shown, *rows[k:]]


def same_name(technique: str, other: str) -> bool:
    """Whether two techniques from the same paper have the same name."""
    return _name(technique) == _name(other)


class _Rows:
    """The rows so far. A technique belongs to the first row to which it is related."""

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
        """Whether a row from the same paper has the same name as this technique."""
        return _name(technique) in self._names

    def of(self, technique: str) -> Group | None:
        none = len(self.groups)
        number = min(self._above.get(technique, none), self._names.get(_name(technique), none))
        for ancestor in kin(technique):
            number = min(number, self._leads.get(ancestor, none))
        return self.groups[number] if number < none else None


@lru_cache(_CACHED)
def kin(technique: str) -> tuple[str, ...]:
    """Returns the technique and its ancestors, nearest first."""
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
    """Returns the paper and name, which identify a technique even if the paper uses it in several places."""
    return paper_of(technique), technique.rpartition("#")[2].rpartition("/")[2]
