"""Techniques for a query: exact names first, then text and vector search fused, or nothing where nothing fits."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xkg.ranking import reciprocal_rank_fusion
from xkg.serve.answers import Relative, SearchAnswer, SearchRow, resolve_paper, search_row
from xkg.store import Hit, Snapshot, TechniqueView

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OVERFETCH = 50
LONG_QUERY_WORDS = 25
PART_WORDS = 4
MOST_PARTS = 8
PART_WEIGHT = 0.5
MOST_RELATIVES = 5

UNRELATED, SAME = 0.2, 0.7
"""Cosines of all-MiniLM-L6-v2: texts of one field that share no subject lie near 0.2, one thing said twice near 0.7."""

AGREEMENT_DEPTH = 10
FITS = 0.5
WORTH_SHOWING = 0.2

_SENTENCE = re.compile(r"(?<=[.;!?])\s+")
_CLAUSE = re.compile(r"[,:]\s+(?:(?:and|or|then|but)\s+)?|\s+(?:and then|then|while)\s+")


def search(
    snapshot: Snapshot,
    embed: "Callable[[str], NDArray[np.float32]]",
    query: str,
    k: int = 5,
    papers: Sequence[str] = (),
    with_code: bool = False,
) -> SearchAnswer:
    """The techniques that fit `query`, at most `k`, best first; `papers` (ids or titles) and `with_code` narrow it.

    Order: techniques of exactly this name or alias, then the ranks in BM25 and in vector search, fused. A long query is
    also searched in parts, since one vector blurs its several needs. Of a technique and those above and below it the
    best match is the row, and the others that matched are inside it. The score of a row is the geometric mean of how
    alike query and technique are (`UNRELATED`..`SAME` on 0..1) and how much both searches agree on it (1 when both put
    it first), never above that of the row before. If no row reaches `FITS`, nothing fits.

    Raises `UnknownIdError` for a paper that is not here, and what `embed` raises.
    """
    only = tuple(dict.fromkeys(resolve_paper(snapshot, paper) for paper in papers))
    query = " ".join(query.split())
    exact = [t for t in snapshot.named(query) if not only or t.partition("#")[0] in only]
    ranking, scores = _fused(snapshot, embed, query, max(OVERFETCH, 10 * k), only)
    order = list(dict.fromkeys([*exact, *ranking]))
    scores.update(dict.fromkeys(exact, 1.0))
    order = [t for t in order if scores[t] >= WORTH_SHOWING]
    if with_code:
        order = [view.technique.id for view in snapshot.techniques(order) if view.code is not None]
    families = _families(order)
    fits = any(scores[t] >= FITS for lead, relatives in families[:k] for t in (lead, *relatives))
    shown = [(lead, relatives[:MOST_RELATIVES]) for lead, relatives in families[:k]] if fits else []
    views = {v.technique.id: v for v in snapshot.techniques([t for lead, inside in shown for t in (lead, *inside)])}
    # On a server that many write to, a technique may be gone by the time it is looked up.
    shown = [(lead, [t for t in relatives if t in views]) for lead, relatives in shown if lead in views]
    rows = _rows(shown, views, scores)
    return SearchAnswer(
        query=query,
        rows=rows,
        searched=_scope(snapshot, only, with_code),
        cut=_cut(len(families) - len(rows), fits, k),
    )


def parts(query: str) -> list[str]:
    """The query, and where it is long the sentences and clauses of it that can stand alone."""
    if len(query.split()) <= LONG_QUERY_WORDS:
        return [query]
    clauses = [clause.strip() for sentence in _SENTENCE.split(query) for clause in _CLAUSE.split(sentence)]
    telling = [clause for clause in dict.fromkeys(clauses) if len(clause.split()) >= PART_WORDS]
    return [query, *telling[:MOST_PARTS]] if len(telling) > 1 else [query]


def _fused(
    snapshot: Snapshot,
    embed: "Callable[[str], NDArray[np.float32]]",
    query: str,
    depth: int,
    papers: Sequence[str],
) -> tuple[list[str], dict[str, float]]:
    """Ids by fused rank, best first, and the score of each."""
    rankings: list[list[str]] = []
    weights: list[float] = []
    scores: dict[str, float] = {}
    for number, part in enumerate(parts(query)):
        by_text = snapshot.find_text(part, depth, papers)
        by_vector = snapshot.find_vector(embed(part), depth, papers)
        rankings += [[hit.id for hit in by_text], [hit.id for hit in by_vector]]
        weights += [1.0 if number == 0 else PART_WEIGHT] * 2
        for technique, score in _scores(by_text, by_vector).items():
            scores[technique] = max(scores.get(technique, 0.0), score)
    return [technique for technique, _ in reciprocal_rank_fusion(rankings, weights=weights)], scores


def _scores(by_text: Sequence[Hit], by_vector: Sequence[Hit]) -> dict[str, float]:
    cosines = {hit.id: hit.score for hit in by_vector}
    weakest = min(cosines.values(), default=0.0)  # what vector search did not return is no closer than this
    agreement = dict(reciprocal_rank_fusion([[h.id for h in by_text], [h.id for h in by_vector]], k=AGREEMENT_DEPTH))
    both_first = 2 / (AGREEMENT_DEPTH + 1)
    return {
        technique: (_likeness(cosines.get(technique, weakest)) * value / both_first) ** 0.5
        for technique, value in agreement.items()
    }


def _likeness(cosine: float) -> float:
    return min(1.0, max(0.0, (cosine - UNRELATED) / (SAME - UNRELATED)))


def _families(order: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Each row's technique with its relatives that matched. A technique that matched stands in one row only."""
    families: dict[str, list[str]] = {}
    for technique in order:
        lead = next((t for t in families if _above(t, technique) or _above(technique, t)), None)
        if lead is None:
            families[technique] = []
        else:
            families[lead].append(technique)
    return list(families.items())


def _above(ancestor: str, technique: str) -> bool:
    return technique.startswith(ancestor + "/")


def _rows(
    families: Sequence[tuple[str, list[str]]], views: dict[str, TechniqueView], scores: dict[str, float]
) -> tuple[SearchRow, ...]:
    rows = []
    highest = 1.0
    for lead, relatives in families:
        highest = min(highest, scores[lead])
        inside = [
            Relative(
                id=t,
                name=views[t].technique.name,
                relation="part of" if _above(t, lead) else "has part",
                score=round(min(scores[t], highest), 3),
            )
            for t in relatives
        ]
        rows.append(search_row(views[lead], highest, inside))
    return tuple(rows)


def _scope(snapshot: Snapshot, papers: Sequence[str], with_code: bool) -> str:
    count = len(papers) or len(snapshot.papers())
    which = f"{'these' if papers else 'all'} {count} papers"
    if count == 1:
        which = "this paper" if papers else "the one paper"
    names = "" if snapshot.searchable else "; by name alone, since the indexes are being made: ask again in a while"
    return f"{which}, {'only techniques with code' if with_code else 'all techniques'}{names}"


def _cut(more: int, fits: bool, k: int) -> str:
    if not fits:
        return "weaker matches, none of them fits; say it in other words or search all papers" if more else ""
    matches = "1 weaker match" if more == 1 else f"{more} weaker matches"
    return f"{matches} after the first {k}; ask for a larger k" if more > 0 else ""
