"""Finds techniques in different papers that are the same concept, for `SAME_CONCEPT` edges.

The links between two papers depend only on them and on decisions about their techniques. Papers can therefore be added
in any order, and removing a paper removes only its own links.

Conclusive names are sufficient for a decision. Vectors alone are not reliable enough. With all-MiniLM-L6-v2,
descriptions of the same concept by two authors have a cosine of 0.44 to 0.77. However, a concept and its variant have a
cosine of 0.48 to 0.89. For example, posterior and likelihood estimation differ in only one word. Still, vectors show
whether a shared name is a coincidence, which texts are nearly identical, and which pairs the model should judge. The
thresholds were chosen for all-MiniLM-L6-v2."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

from xkg.store.concepts.decisions import judged, text_hash
from xkg.store.concepts.names import NO_NAMES, Names, names
from xkg.store.graph_store import Decisions
from xkg.store.index_entries import Entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Unrelated techniques called "Training" or "Encoder" in different fields have a cosine of 0.2 to 0.5.
# Below this threshold, even matches of specific names are coincidences.
TELLING = 0.3
# Different concepts with the same abbreviation had a cosine of up to 0.53.
# The same concept in two papers had a cosine of 0.44 to 0.77.
TERSE = 0.55
NEAR_DUPLICATE = 0.95
OPEN = 0.6
OPEN_PAIR = "open"
MOST_NAMESAKES = 20
"""Maximum number of techniques in a paper that may share a distinctive name."""


@dataclass(frozen=True)
class Concept:
    """A technique to link. `row` is the technique's row in the vectors, and `judged` is the hash of its text. Hidden
    techniques are never linked."""

    row: int
    paper: int
    id: str
    names: Names
    judged: str
    hidden: bool = False


@dataclass(frozen=True)
class RowLink:
    """A link between two rows (lower id first), with the cosine of their texts. `how` is the reason for the link:
    `name`, `vectors` or `model`, or `open` if the pair is undecided."""

    first: int
    second: int
    score: float
    how: str


def concept(row: int, paper: int, entry: Entry) -> Concept:
    """Creates a `Concept` for a technique. `row` is the technique's row in the vectors, and `paper` is the paper's
    number."""
    technique = entry.technique
    hidden = technique.hidden is not None
    forms = NO_NAMES if hidden else names(technique.name, technique.aliases)
    return Concept(row, paper, technique.id, forms, text_hash(technique), hidden)


def link(
    concepts: Sequence[Concept],
    vectors: "NDArray[np.float32]",
    near: Iterable[tuple[int, int]],
    decisions: Decisions,
    among: frozenset[int] | None = None,
) -> list[RowLink]:
    """Returns all links and undecided pairs, ordered by row. If `among` is given, only returns links and pairs that
    involve the papers in `among`.

    `concepts` are in row order, and `vectors` are their unit vectors. `near` contains pairs of rows from different
    papers with a cosine of at least `OPEN`. For each pair, no other row of either paper may be nearer to the row from
    the other paper."""
    found: dict[tuple[int, int], str] = {}
    scores: dict[tuple[int, int], float] = {}

    def score(pair: tuple[int, int]) -> float:
        if pair not in scores:
            scores[pair] = round(max(0.0, min(1.0, float(vectors[pair[0]] @ vectors[pair[1]]))), 4)
        return scores[pair]

    for pair in _sharing(concepts, lambda c: c.names.telling, among):
        found[pair] = "name" if score(pair) >= TELLING else OPEN_PAIR
    for pair in _sharing(concepts, lambda c: c.names.terse, among):
        first, second = (concepts[row] for row in pair)
        if pair not in found and score(pair) >= TELLING and not first.names.conflict(second.names):
            found[pair] = "name" if score(pair) >= TERSE else OPEN_PAIR
    for one, other in near:
        pair = _ordered(concepts, one, other)
        if concepts[one].hidden or concepts[other].hidden:
            continue
        if pair not in found and score(pair) >= OPEN:
            found[pair] = "vectors" if score(pair) >= NEAR_DUPLICATE else OPEN_PAIR
    _decide(concepts, found, decisions, among)
    linked = {(a, concepts[b].paper) for pair, how in found.items() if how != OPEN_PAIR for a, b in (pair, pair[::-1])}
    return [
        RowLink(*pair, score(pair), how)
        for pair, how in sorted(found.items())
        # If a technique's counterpart in a paper was found, omit its undecided pairs with other techniques in that
        # paper.
        if how != OPEN_PAIR or not {(pair[0], concepts[pair[1]].paper), (pair[1], concepts[pair[0]].paper)} & linked
    ]


def _decide(
    concepts: Sequence[Concept],
    found: dict[tuple[int, int], str],
    decisions: Decisions,
    among: frozenset[int] | None,
) -> None:
    """Applies all valid decisions. Decisions override other evidence."""
    by_id = {c.id: c for c in concepts if not c.hidden}
    for decision in decisions.values():
        first, second = by_id.get(decision.first), by_id.get(decision.second)
        if first is None or second is None or decision.judged != judged(first.judged, second.judged):
            continue
        if among is not None and not among & {first.paper, second.paper}:
            continue
        if decision.relation == "same":
            found[first.row, second.row] = "model"
        else:
            found.pop((first.row, second.row), None)


def _sharing(
    concepts: Sequence[Concept], forms: Callable[[Concept], frozenset[str]], among: frozenset[int] | None
) -> set[tuple[int, int]]:
    """Returns pairs of rows from different papers whose names have a form in common. At least one of the papers is in
    `among`."""
    by_form: dict[str, list[int]] = defaultdict(list)
    for c in concepts:
        for form in forms(c):
            by_form[form].append(c.row)
    return {_ordered(concepts, one, other) for rows in by_form.values() for one, other in _pairs(concepts, rows, among)}


def _pairs(concepts: Sequence[Concept], rows: Sequence[int], among: frozenset[int] | None) -> Iterator[tuple[int, int]]:
    """Yields pairs of these rows. The two rows belong to different papers, and at least one of the papers is in
    `among`. May yield duplicates."""
    papers: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        papers[concepts[row].paper].append(row)
    telling = {paper: own for paper, own in papers.items() if len(own) <= MOST_NAMESAKES}
    if among is None:
        for one, other in combinations(telling.values(), 2):
            yield from product(one, other)
        return
    for paper in among & telling.keys():
        for another, rest in telling.items():
            if another != paper:
                yield from product(telling[paper], rest)


def _ordered(concepts: Sequence[Concept], one: int, other: int) -> tuple[int, int]:
    return (one, other) if concepts[one].id < concepts[other].id else (other, one)
