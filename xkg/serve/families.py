"""Search rows: of techniques that stand above or below one another the one that answers best is the row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xkg.model import paper_of

MOST_RELATIVES = 5

SPECIFIC = 0.8
"""A technique is matched by all that is said of its parts. A part that matches at least this share as well is what was
meant: it is the row, and the technique stands inside it."""


@dataclass
class Family:
    lead: str
    relatives: list[str] = field(default_factory=list)


def families(strength: Mapping[str, float], first: Sequence[str] = (), most: int = 50) -> list[Family]:
    """Rows, best first, for techniques with their strengths, the `most` strongest of which count. Those in `first` come
    first, and lead whatever their parts are like. A technique stands in one row only, as do two of one name in a paper.
    """
    ranked = sorted(strength, key=lambda technique: (-strength[technique], technique))[:most]
    pool = list(dict.fromkeys([*first, *ranked]))
    merit = dict(strength)
    broad = set()
    for technique in ranked:
        parts = [t for t in ranked if above(technique, t) and strength[t] >= SPECIFIC * strength[technique]]
        if parts and technique not in first:
            broad.add(technique)
            best = max(parts, key=lambda t: merit[t])
            merit[best] = max(merit[best], merit[technique])
    leads = [t for t in pool if t not in broad]
    leads.sort(key=lambda t: (t not in first, -merit.get(t, 1.0)))
    found: list[Family] = []
    placed = set()
    for technique in leads:
        if not any(_related(family.lead, technique) for family in found):
            found.append(Family(technique))
            placed.add(technique)
    for technique in pool:
        home = next((family for family in found if _related(family.lead, technique)), None)
        if technique not in placed and home is not None:
            home.relatives.append(technique)
    return found


def above(ancestor: str, technique: str) -> bool:
    return technique.startswith(ancestor + "/")


def _related(one: str, other: str) -> bool:
    return above(one, other) or above(other, one) or _name(one) == _name(other)


def _name(technique: str) -> tuple[str, str]:
    """A paper that uses a technique in two places may have it twice, which is one answer."""
    return paper_of(technique), technique.rpartition("#")[2].rpartition("/")[2]
