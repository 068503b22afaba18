"""Groups search results. Groups techniques into rows. Techniques above or below each other in a hierarchy share a row,
led by the best match."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from xkg.model import paper_of

MOST_RELATIVES = 5

OWN_ROWS, _CONSIDERED = 3, 10
"""Number of separate rows for each part of a query, and number of techniques considered for these rows."""

CROWDED_OUT = 5
"""Number of rows after the first `k` whose lead technique may be added to an earlier row from the same paper."""

_CACHED = 4096
SPECIFIC = 0.8
"""If a part of a technique has at least this fraction of the technique's strength, the part leads the row. A
technique's text includes its parts, so a technique often matches only because of one of its parts."""


@dataclass
class Group:
    lead: str
    relatives: list[str] = field(default_factory=list)


def apart(needs: Sequence[Mapping[str, float]]) -> frozenset[str]:
    """Returns the techniques that lead the first rows for at least one need. `needs` contains the techniques' strengths
    for each need. A query may have several needs, such as a method and its individual steps."""
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
    groups: list[Group] = []
    of_papers: dict[str, list[Group]] = defaultdict(list)

    def row_of(technique: str) -> Group | None:
        return next((row for row in of_papers[paper_of(technique)] if _related(technique, row.lead)), None)

    # Techniques that are weaker than one of their parts come last, because the stronger part may be in a different row.
    for technique in [*first, *leads, *broad]:
        own_row = technique in own and not any(same_name(technique, row.lead) for row in of_papers[paper_of(technique)])
        if own_row or row_of(technique) is None:
            groups.append(Group(technique))
            of_papers[paper_of(technique)].append(groups[-1])
    led = {row.lead for row in groups}
    for technique in [*first, *ranked]:
        row = None if technique in led else row_of(technique)
        if row is not None and technique not in row.relatives:
            row.relatives.append(technique)
    return groups


def _related(technique: str, lead: str) -> bool:
    return technique == lead or above(technique, lead) or above(lead, technique) or same_name(technique, lead)


def strongest(strength: Mapping[str, float], most: int) -> list[str]:
    """Returns the `most` strongest techniques, strongest first. Ties are in id order."""
    if len(strength) > most > 0:
        least = sorted(strength.values(), reverse=True)[most - 1]  # sorting numbers is faster than sorting pairs
        strength = {technique: value for technique, value in strength.items() if value >= least}
    return sorted(strength, key=lambda technique: (-strength[technique], technique))[:most]


def crowded_out(rows: Sequence[Group], k: int) -> list[Group]:
    """Returns the first `k` rows. Each of the next few leads is added as a relative to a row from the same paper, if
    there is one. This helps if a query lists a method's steps and more than `k` steps match."""
    shown = [Group(row.lead, list(row.relatives)) for row in rows[:k]]
    for row in rows[k : k + CROWDED_OUT]:
        beside = (other for other in shown if paper_of(other.lead) == paper_of(row.lead))
        with_room = next((other for other in beside if len(other.relatives) < MOST_RELATIVES), None)
        if with_room is not None:
            with_room.relatives.append(row.lead)
    return [*shown, *rows[k:]]


def same_name(technique: str, other: str) -> bool:
    """Returns whether two techniques from the same paper have the same name."""
    return _name(technique) == _name(other)


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
