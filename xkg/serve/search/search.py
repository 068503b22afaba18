"""Techniques for a query: exact names first, then text and vector search fused, or nothing where nothing fits."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from xkg.model import paper_of
from xkg.serve.answers.lookup import search_row
from xkg.serve.answers.paper_list import undated_papers, years_in_words
from xkg.serve.answers.types import MORE_ROWS, Relative, SearchAnswer, SearchRow
from xkg.serve.search.calibration import EXAMINED, FITS, scores
from xkg.serve.search.candidates import Encode, candidates
from xkg.serve.search.filters import Filters
from xkg.serve.search.grouping import (
    MOST_RELATIVES,
    Group,
    above,
    apart,
    crowded_out,
    grouped,
    same_name,
    spread,
    strongest,
)
from xkg.store.graph_store import Snapshot, TechniqueView

EVERYTHING = Filters()

_TITLE_WORDS = 3
"""Fewer words are no title: the short name of a paper is that of its method, or of no technique."""

_SAME_TITLE = 3
_NONE_LEFT = "nothing: no technique passes the filters; drop one of them"


class Seek(Protocol):
    """`search` with the model of the settings."""

    def __call__(
        self, snapshot: Snapshot, query: str, k: int, filters: Filters = EVERYTHING, *, bar: float = FITS
    ) -> SearchAnswer: ...


def search(
    snapshot: Snapshot,
    encode: Encode,
    query: str,
    k: int = 5,
    filters: Filters = EVERYTHING,
    *,
    bar: float = FITS,
) -> SearchAnswer:
    """The techniques that fit `query`, at most `k`, best first, narrowed by `filters`.

    Order: techniques of exactly this name or alias, then by BM25 and vector search of the whole query and, where it is
    long, of its parts (`candidates`). Techniques above and below one another are one row, led by the best match (or the
    best for one of several needs), with the others inside it (`grouped`); of two of one name in a paper the one with
    code leads. The score of a row is how well it fits (`scores`), or that of a better row after it. Where none of the
    strongest scores `bar`, there are no rows.

    Raises `UnknownIdError` for a paper that is not here, and what `read` raises.
    """
    query = " ".join(query.split())
    filters = filters.resolved(snapshot)
    papers = filters.only(snapshot)
    if papers is None:
        return SearchAnswer(query=query, rows=(), searched=_scope(snapshot, 0, filters), cut=_NONE_LEFT)
    matches = candidates(snapshot, encode, query, filters, papers, 4 * k)
    strength = matches.strength
    exact = _named(snapshot, query, filters, papers, strength)
    rows = spread(grouped(strength, exact, max(50, 4 * k), apart(matches.needs)), strength, k)
    if matches.needs:
        rows = crowded_out(rows, k)
    deciding = [*exact, *strongest(strength, EXAMINED)]
    scored = [t for group in rows[:k] for t in (group.lead, *group.relatives[:MOST_RELATIVES])]
    named = dict.fromkeys(exact, 1.0)  # there may be hundreds
    unscored = [technique for technique in dict.fromkeys([*deciding, *scored]) if technique not in named]
    fits = scores(snapshot, query, matches, unscored) | named
    visible = rows[:k] if any(fits[technique] >= bar for technique in deciding) else []
    inside = [t for group in visible for t in (group.lead, *group.relatives[:MOST_RELATIVES])]
    # On a server that many write to, a technique may be gone by the time it is looked up.
    views = {view.technique.id: view for view in snapshot.techniques(inside)}
    return SearchAnswer(
        query=query,
        rows=_rows(visible, views, fits),
        searched=_scope(snapshot, len(papers) or snapshot.paper_count(), filters),
        cut=_cut(len(rows) - len(visible), bool(visible), k) if rows or not filters.chosen else _NONE_LEFT,
    )


def _named(
    snapshot: Snapshot, query: str, filters: Filters, papers: Sequence[str], strength: Mapping[str, float]
) -> list[str]:
    """Techniques whose name or alias the query is, and the methods of papers whose title it is: those of the title
    first, then those with code, each by strength."""
    methods = _methods(snapshot, query)
    named = dict.fromkeys([*methods, *snapshot.named(query)])
    chosen = [t for t in named if not papers or paper_of(t) in papers]
    if len(chosen) < 2 and not filters.of_techniques:
        return chosen
    facts = snapshot.facts(chosen)
    admitted = [t for t in chosen if t in facts and filters.admit(t, facts[t])]
    return sorted(admitted, key=lambda t: (t not in methods, not facts[t].language, -strength.get(t, 0.0)))


def _methods(snapshot: Snapshot, title: str) -> list[str]:
    """What the papers of this title propose: the first technique of each."""
    if len(title.split()) < _TITLE_WORDS:
        return []
    bundles = map(snapshot.bundle, snapshot.called(title)[:_SAME_TITLE])
    visible = ([t.id for t in bundle.techniques if t.hidden is None] for bundle in bundles)
    return [techniques[0] for techniques in visible if techniques]


def _rows(groups: Sequence[Group], views: dict[str, TechniqueView], fits: dict[str, float]) -> tuple[SearchRow, ...]:
    rows: list[SearchRow] = []
    for group in reversed([_with_code(group, views) for group in groups if group.lead in views]):
        score = max(fits[group.lead], rows[-1].score if rows else 0.0)
        inside = [
            Relative(
                id=t,
                name=views[t].technique.name,
                relation=relation(t, group.lead),
                score=round(min(fits[t], score), 3),
            )
            for t in group.relatives[:MOST_RELATIVES]
            if t in views
        ]
        rows.append(search_row(views[group.lead], score, inside))
    return tuple(reversed(rows))


def _with_code(group: Group, views: dict[str, TechniqueView]) -> Group:
    """The row, led by what has the same name and code where its own lead has none."""
    if views[group.lead].code is not None:
        return group
    for other in group.relatives[:MOST_RELATIVES]:
        if other in views and views[other].code is not None and relation(other, group.lead) == "same name":
            others = [t for t in group.relatives if above(t, other) or above(other, t)]
            return Group(other, [group.lead, *others])
    return group


def relation(technique: str, lead: str) -> str:
    """What a technique that belongs to the row of `lead` is to it."""
    if above(technique, lead):
        return "part of"
    if above(lead, technique):
        return "has part"
    return "same name" if same_name(lead, technique) else "same paper"


def _scope(snapshot: Snapshot, count: int, filters: Filters) -> str:
    first, last = filters.years
    chosen = bool(filters.papers or first is not None or last is not None)
    which = f"{'these' if chosen else 'all'} {count} papers"
    if count == 1:
        which = "this paper" if chosen else "the one paper"
    years = f" {years_in_words(first, last)}" if first is not None or last is not None else ""
    undated = undated_papers(snapshot) if years else ""
    names = "" if snapshot.searchable else "; by name alone, since the indexes are being made: ask again in a while"
    return f"{which}{years}, {filters.describe()}{f'; {undated}' if undated else ''}{names}"


def _cut(more: int, fits: bool, k: int) -> str:
    if not fits:
        weaker = "weaker matches, none of which fits" if more else "nothing: no technique is like it"
        return f"{weaker}; say it in other words, or search more widely"
    matches = "1 weaker match" if more == 1 else f"{more} weaker matches"
    return f"{matches} after the first {k}; {MORE_ROWS}" if more > 0 else ""
