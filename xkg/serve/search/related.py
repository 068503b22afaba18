"""Finds related papers by citations, shared concepts and similar techniques."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import ClassVar

from xkg.model import paper_of
from xkg.serve.answers.references import paper_id, resolved
from xkg.serve.answers.types import MORE_ROWS, Listing
from xkg.store.graph_store import Link, Snapshot, TechniqueView
from xkg.store.index_entries import entries
from xkg.value import Value

MOST_PAIRS = 5
NEIGHBOURS = 50
"""Number of nearest neighbours to examine for each technique in the paper."""

DEEPER = 0.5
"""Weight of a technique relative to its parent. Papers that share a subject are more closely related than papers that
share a step."""

CITATION, CONCEPT = 0.5, 0.5
"""Score of two papers related only by a citation, or only by a shared concept at the top of both hierarchies."""

ALIKE = 1 / 3
"""Minimum similarity for two techniques to be considered similar. 0 is the mean cosine with all techniques, and 1 is
identical text."""


class Pair(Value):
    """A technique from the given paper (`own`) and one from the related paper (`other`) that are the same concept or
    similar."""

    head: ClassVar[str] = "{own_name} {own} and {other_name} {other}"

    own: str
    own_name: str
    other: str
    other_name: str


class RelatedRow(Value):
    """A related paper. `score` (0 to 1) combines all kinds of relation. `cites` and `cited` say whether the given paper
    cites this paper or is cited by it. `alike` (0 to 1) measures how similar the techniques of the two papers are.
    `shared` are pairs of techniques that are the same concept, and `nearest` are pairs of similar techniques."""

    head: ClassVar[str] = "{title}  [score {score:g}]\n{id}"

    id: str
    title: str
    year: int | None
    score: float
    cites: bool
    cited: bool
    shared: tuple[Pair, ...]
    alike: float
    nearest: tuple[Pair, ...]


class RelatedAnswer(Listing):
    """Related papers, best first. `searched` describes how papers were searched, and `cut` says how many papers were
    omitted and how to get them."""

    nothing: ClassVar[tuple[str, str]] = ("rows", "There are no related papers.")

    paper: str
    rows: tuple[RelatedRow, ...]
    searched: str
    cut: str
    cursor: str | None = None


def related_papers(snapshot: Snapshot, paper: str, k: int = 10, exclude: Sequence[str] = ()) -> RelatedAnswer:
    """Returns the `k` papers in the graph most closely related to `paper` (an id or title), excluding those in
    `exclude`.

    The kinds of relation are treated as independent evidence: a paper's score is 1 minus the product of (1 - score)
    over all kinds of relation. Raises `UnknownIdError` if the paper is unknown."""
    own = paper_id(snapshot, paper)
    views = {view.technique.id: view for view in snapshot.techniques(_techniques(snapshot, own))}
    cites, cited = snapshot.citations_of(own)
    shared = _shared(snapshot.links_of(list(views)), views)
    alike, nearest = _alike(snapshot, own, views)
    others = _views(snapshot, shared.values())
    known = snapshot.headings(list({*cites, *cited, *shared, *alike} - {own, *resolved(snapshot, exclude)}))
    scores: dict[str, float] = {}
    for other in known:
        left = (1 - CITATION) ** (other in cites) * (1 - CITATION) ** (other in cited) * (1 - alike.get(other, 0.0))
        for mine, theirs in shared.get(other, ()):
            # another process may have removed a technique from the graph
            left *= 1 - CONCEPT * _place(views[mine]) * _place(others[theirs]) if theirs in others else 1
        scores[other] = round(1 - left, 3)
    best = sorted((other for other in scores if scores[other] > 0), key=lambda other: (-scores[other], other))
    more = len(best) - k
    others |= _views(snapshot, (nearest.get(other, ()) for other in best[:k]))
    rows = [
        RelatedRow(
            id=other,
            title=known[other].title,
            year=known[other].year,
            score=scores[other],
            cites=other in cites,
            cited=other in cited,
            shared=_pairs(shared.get(other, ()), views, others),
            alike=round(alike.get(other, 0.0), 3),
            nearest=_pairs(nearest.get(other, ()), views, others),
        )
        for other in best[:k]
    ]
    cut = f"{more} less closely related papers after the first {k}; {MORE_ROWS}" if more > 0 else ""
    return RelatedAnswer(
        paper=own,
        rows=tuple(rows),
        searched=f"citations, shared concepts and techniques of {snapshot.paper_count() - 1} other papers",
        cut=cut if rows else "nothing; try search_techniques with what the paper is about",
    )


def _techniques(snapshot: Snapshot, paper: str) -> list[str]:
    ids = [entry.technique.id for entry in entries(snapshot.bundle(paper))]
    known = snapshot.facts(ids)
    return [technique for technique in ids if technique in known]


def _views(snapshot: Snapshot, pairs: Iterable[Sequence[tuple[str, str]]]) -> dict[str, TechniqueView]:
    """Returns the second technique in each pair. Techniques that are hidden or no longer exist are excluded."""
    partners = list(dict.fromkeys(theirs for several in pairs for _, theirs in several))
    return {view.technique.id: view for view in snapshot.techniques(partners) if view.technique.hidden is None}


def _place(view: TechniqueView) -> float:
    return DEEPER ** (len(view.path) - 1)


def _shared(links: Sequence[Link], views: dict[str, TechniqueView]) -> dict[str, list[tuple[str, str]]]:
    """Returns pairs of techniques that are the same concept, one from the given paper and one from another, keyed by
    the other paper."""
    pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for link in links:
        for mine, theirs in ((link.first, link.second), (link.second, link.first)):
            if link.how != "open" and mine in views:
                pairs[paper_of(theirs)].append((mine, theirs))
    return pairs


def _alike(
    snapshot: Snapshot, own: str, views: dict[str, TechniqueView]
) -> tuple[dict[str, float], dict[str, list[tuple[str, str]]]]:
    """Returns the similarity of each paper's techniques to the given paper's techniques, weighted by depth, and the
    pairs of similar techniques."""
    total = sum(map(_place, views.values()))
    best: dict[str, dict[str, tuple[float, str]]] = defaultdict(dict)
    for technique, vector in snapshot.vectors(list(views)).items():
        background = snapshot.background(vector)
        for hit in snapshot.find_vector(vector, NEIGHBOURS):
            other = paper_of(hit.id)
            closeness = (hit.score - background.mean) / max(1e-6, 1 - background.mean)
            if other != own and closeness >= ALIKE and closeness > best[other].get(technique, (0.0, ""))[0]:
                best[other][technique] = (closeness, hit.id)
    alike = {
        other: min(1.0, sum(_place(views[t]) * closeness for t, (closeness, _) in found.items()) / total)
        for other, found in best.items()
    }
    nearest = {
        other: [(t, hit) for t, (_, hit) in sorted(found.items(), key=lambda item: -item[1][0])[:MOST_PAIRS]]
        for other, found in best.items()
    }
    return alike, nearest


def _pairs(
    pairs: Sequence[tuple[str, str]], views: dict[str, TechniqueView], others: dict[str, TechniqueView]
) -> tuple[Pair, ...]:
    return tuple(
        Pair(
            own=mine,
            own_name=views[mine].technique.name,
            other=theirs,
            other_name=others[theirs].technique.name,
        )
        for mine, theirs in [pair for pair in pairs if pair[1] in others][:MOST_PAIRS]
    )
