"""Matches a graph's techniques with those in a human-made hierarchy, and computes precision and recall.

Pairs are one to one and chosen greedily, surest pairs first. Equal names are paired first, followed by names or aliases
that are variants of each other (abbreviations, plurals, spelling: `xkg.store.concepts.names`). Next are names whose
embeddings have a cosine of at least `ALIKE`, most similar first. Pairs that judges consider the same come last. In
`evaluation/gold/techniques`, an `ALIKE` of 0.8 matches 1% of 1,714 pairs of different techniques from the same paper,
and 22% of 330 pairs of a name and its alias."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evaluation.construction.hierarchy import GoldTechnique
from xkg.model import Technique
from xkg.store.concepts.names import Names, names

ALIKE = 0.8

How = Literal["name", "alias", "similarity", "judge"]
_SURENESS: dict[How, int] = {"name": 3, "alias": 2, "similarity": 1, "judge": 0}

Similarity = Callable[[Sequence[str], Sequence[str]], NDArray[np.float32]]
"""Maps two lists of names to a matrix of cosines."""


@dataclass(frozen=True)
class Pair:
    technique: Technique
    gold: GoldTechnique
    how: How


@dataclass(frozen=True)
class Matching:
    """The pairs for one paper, surest first, and the unmatched techniques on each side."""

    pairs: tuple[Pair, ...]
    unmatched: tuple[Technique, ...]
    missed: tuple[GoldTechnique, ...]

    @property
    def right(self) -> frozenset[str]:
        """Returns the ids of the techniques that have a counterpart."""
        return frozenset(pair.technique.id for pair in self.pairs)


@dataclass(frozen=True)
class Quality:
    """Precision, recall and F1, from 0 to 1. A value is None if its denominator is zero."""

    precision: float | None
    recall: float | None

    @property
    def f1(self) -> float | None:
        if self.precision is None or self.recall is None:
            return None
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def match(
    techniques: Sequence[Technique],
    golds: Sequence[GoldTechnique],
    similarity: Similarity,
    same: frozenset[tuple[tuple[str, ...], str]] = frozenset(),
    alike: float = ALIKE,
) -> Matching:
    """Matches the techniques in one paper. `same` contains pairs of a gold path and a technique id that judges consider
    the same technique. The result does not depend on the order of either side."""
    candidates: list[tuple[int, float, str, tuple[str, ...], int, int, How]] = []
    if techniques and golds:
        cosines = similarity([t.name for t in techniques], [g.name for g in golds])
        forms = [names(t.name, t.aliases) for t in techniques]
        gold_forms = [names(g.name, g.aliases) for g in golds]
        for i, technique in enumerate(techniques):
            for j, gold in enumerate(golds):
                how = _how(technique, gold, forms[i], gold_forms[j], float(cosines[i, j]), alike, same)
                if how is not None:
                    order = (-_SURENESS[how], -round(float(cosines[i, j]), 6), technique.id, gold.path)
                    candidates.append((*order, i, j, how))
    used: set[int] = set()
    found: set[int] = set()
    pairs = []
    for *_, i, j, how in sorted(candidates):
        if i not in used and j not in found:
            used.add(i)
            found.add(j)
            pairs.append(Pair(techniques[i], golds[j], how))
    return Matching(
        pairs=tuple(pairs),
        unmatched=tuple(t for i, t in enumerate(techniques) if i not in used),
        missed=tuple(g for j, g in enumerate(golds) if j not in found),
    )


def _how(
    technique: Technique,
    gold: GoldTechnique,
    forms: Names,
    gold_forms: Names,
    cosine: float,
    alike: float,
    same: frozenset[tuple[tuple[str, ...], str]],
) -> How | None:
    if _plain(technique.name) == _plain(gold.name):
        return "name"
    spelt = {_plain(name) for name in (technique.name, *technique.aliases)}
    if spelt & {_plain(name) for name in (gold.name, *gold.aliases)}:
        return "alias"
    if (forms.telling | forms.terse) & (gold_forms.telling | gold_forms.terse):
        return "alias"
    if cosine >= alike:
        return "similarity"
    return "judge" if (gold.path, technique.id) in same else None


def _plain(name: str) -> str:
    """Returns the case-folded letters and digits of a name, or the name itself if it contains neither."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).casefold()) or name


def quality(matching: Matching, *, weighted: bool = True) -> Quality:
    """Returns precision over the graph's techniques and recall over the gold techniques. Each technique has its own
    weight if `weighted` is set, and a weight of 1 otherwise. Gold techniques with weight 0 count only for precision."""

    def of(technique: Technique) -> float:
        return max(technique.weight, 0.0) if weighted else 1.0

    def of_gold(gold: GoldTechnique) -> float:
        return gold.weight if weighted else float(gold.weight > 0)

    right = sum(of(pair.technique) for pair in matching.pairs)
    found = sum(of_gold(pair.gold) for pair in matching.pairs)
    given = right + sum(map(of, matching.unmatched))
    wanted = found + sum(map(of_gold, matching.missed))
    return Quality(right / given if given else None, found / wanted if wanted else None)


def edges(matching: Matching) -> tuple[int, int]:
    """Considers all pairs whose gold technique has a matched parent. Returns how many of their techniques are also
    below that parent in the graph, directly or indirectly, and how many pairs were considered."""
    by_gold: Mapping[tuple[str, ...], Technique] = {pair.gold.path: pair.technique for pair in matching.pairs}
    above = {t.id: t.parent for t in (*(p.technique for p in matching.pairs), *matching.unmatched)}
    agree = total = 0
    for pair in matching.pairs:
        parent = by_gold.get(pair.gold.parent)
        if parent is None:
            continue
        total += 1
        at, steps = above.get(pair.technique.id), 0
        while at is not None and at != parent.id and steps < len(above):
            at, steps = above.get(at), steps + 1
        agree += at == parent.id
    return agree, total
