"""Finds techniques for a query by exact name, then by text and vector search."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from xkg.model import paper_of
from xkg.serve.answers.lookup import search_row
from xkg.serve.answers.paper_list import undated_papers, years_in_words
from xkg.serve.answers.types import MORE_ROWS, Mention, Relative, SearchAnswer, SearchRow
from xkg.serve.search.calibration import FITS, scores
from xkg.serve.search.candidates import DEPTH, Encode, candidates
from xkg.serve.search.filters import Filters
from xkg.serve.search.grouping import (
    MOST_RELATIVES,
    Group,
    above,
    apart,
    crowded_out,
    grouped,
    same_name,
    strongest,
)
from xkg.store.graph_store import Snapshot, TechniqueView

EVERYTHING = Filters()

_TITLE_WORDS = 3
"""Minimum number of words in a title. A shorter text is usually the name of a paper's method."""

_SAME_TITLE = 3

MOST_NEAREST = 5
_SPELLED = 5
"""Minimum length of words whose spelling is corrected. Shorter words resemble too many other words."""

_NONE_LEFT = "nothing: no technique passes the filters; remove some filters"


class Seek(Protocol):
    """Calls `search` with the configured embedding model."""

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
    """Returns up to `k` techniques that fit `query` and pass `filters`, best first.

    - Techniques with exactly this name or alias come first. All other techniques are ranked by BM25 and vector
      search for the whole query and the parts of a long query (`candidates`)
    - Techniques above or below each other share a row, led by the best match for the query or for one of its needs
      (`grouped`). If several techniques in a paper have the same name, one that has code leads
    - A row's score says how well the row fits (`scores`). If a later row scores higher, the earlier row is given the
      same score
    - Techniques that score less than `bar` are not returned as rows. The best of these techniques are
      listed in `nearest`
    - If the query is code, it is first looked up in the graph's code
    - If there are no rows, words that are not in the graph are replaced with similarly spelled words

    Raises `UnknownIdError` if a paper is unknown, and any error from `encode`."""
    code, query = query, " ".join(query.split())
    filters = filters.resolved(snapshot)
    papers = filters.only(snapshot)
    if papers is None:
        return SearchAnswer(query=query, rows=(), searched=_scope(snapshot, 0, filters), cut=_NONE_LEFT)
    found = _Search(snapshot, query, k, filters, len(papers) or snapshot.paper_count(), bar)
    matches = candidates(snapshot, encode, query, filters, papers, 4 * k)
    by_code = _by_code(snapshot, code, filters, papers, 4 * k)
    if any(share >= bar for share in by_code.values()):
        both = {t: by_code.get(t, 0.0) + matches.strength.get(t, 0.0) / 2 for t in by_code | matches.strength}
        return found.answer(grouped(both), both, by_code)
    strength = matches.strength
    exact = _named(snapshot, query, filters, papers, strength)
    groups = grouped(strength, exact, max(50, 4 * k), apart(matches.needs))
    if matches.needs:
        groups = crowded_out(groups, k)
    named = dict.fromkeys(exact, 1.0)  # a dictionary speeds up lookups in hundreds of rows
    unscored = [technique for technique in _techniques(groups[:k]) if technique not in named]
    answer = found.answer(groups, strength, scores(snapshot, query, matches, unscored) | named)
    respelled = query if answer.rows else _respelled(snapshot, query)
    if respelled != query:
        other = search(snapshot, encode, respelled, k, filters, bar=bar)
        if other.rows:
            return other.model_copy(update={"query": query, "searched": f"{other.searched}; read as {respelled!r}"})
    return answer


@dataclass(frozen=True)
class _Search:
    snapshot: Snapshot
    query: str
    k: int
    filters: Filters
    papers: int
    bar: float

    def answer(self, groups: Sequence[Group], strength: Mapping[str, float], fits: Mapping[str, float]) -> SearchAnswer:
        """Returns the first `k` groups that fit, and the strongest techniques that are not in these groups."""
        first = groups[: self.k]
        shown = _techniques(first)
        # another process may have removed a technique from the graph
        rows = [row for row in _rows(first, _views(self.snapshot, shown), fits) if row.score >= self.bar]
        whole = len(rows) == self.k
        return SearchAnswer(
            query=self.query,
            rows=tuple(rows),
            nearest=() if whole else self._nearest(rows, strength),
            searched=_scope(self.snapshot, self.papers, self.filters),
            cut=self._cut(len(groups), len(rows)),
        )

    def _cut(self, groups: int, rows: int) -> str:
        if not groups and self.filters.chosen:
            return _NONE_LEFT
        if not rows:
            return "weaker matches; rephrase the query, or remove filters"
        more = groups - rows if rows == self.k else 0
        matches = "1 weaker match" if more == 1 else f"{more} weaker matches"
        return f"{matches} after the first {self.k}; {MORE_ROWS}" if more > 0 else ""

    def _nearest(self, rows: Sequence[SearchRow], strength: Mapping[str, float]) -> tuple[Mention, ...]:
        shown = {technique for row in rows for technique in (row.id, *(relative.id for relative in row.relatives))}
        others = [t for t in strongest(strength, len(shown) + MOST_NEAREST) if t not in shown][:MOST_NEAREST]
        views = _views(self.snapshot, others)
        return tuple(Mention(id=t, name=views[t].technique.name) for t in others if t in views)


def _views(snapshot: Snapshot, techniques: Sequence[str]) -> dict[str, TechniqueView]:
    return {view.technique.id: view for view in snapshot.techniques(techniques)}


def _techniques(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(t for group in groups for t in (group.lead, *group.relatives[:MOST_RELATIVES])))


def _by_code(snapshot: Snapshot, query: str, filters: Filters, papers: Sequence[str], most: int) -> dict[str, float]:
    """Returns the fraction of the query that each technique's code contains. The result is empty if the query is not
    code."""
    hits = dict(snapshot.find_code(query, max(DEPTH, most), papers))
    if not filters.of_techniques:
        return hits
    return {t: hits[t] for t, facts in snapshot.facts(list(hits)).items() if filters.admit(t, facts)}


def _respelled(snapshot: Snapshot, query: str) -> str:
    """Replaces each long word in the query with the most similarly spelled word in the graph."""
    return re.sub(rf"\w{{{_SPELLED},}}", lambda match: snapshot.spelled(match[0].lower()) or match[0], query)


def _named(
    snapshot: Snapshot, query: str, filters: Filters, papers: Sequence[str], strength: Mapping[str, float]
) -> list[str]:
    """Returns techniques whose name or alias is the query, and the methods of papers whose title is the query. Methods
    come first, then techniques with code, then all other techniques. Within each kind, techniques are ordered by
    strength."""
    methods = _methods(snapshot, query)
    named = dict.fromkeys([*methods, *snapshot.named(query)])
    chosen = [t for t in named if not papers or paper_of(t) in papers]
    if len(chosen) < 2 and not filters.of_techniques:
        return chosen
    facts = snapshot.facts(chosen)
    admitted = [t for t in chosen if t in facts and filters.admit(t, facts[t])]
    return sorted(admitted, key=lambda t: (t not in methods, not facts[t].language, -strength.get(t, 0.0)))


def _methods(snapshot: Snapshot, title: str) -> list[str]:
    """Returns the first technique in each paper with this title, which is the method proposed by the paper."""
    if len(title.split()) < _TITLE_WORDS:
        return []
    bundles = map(snapshot.bundle, snapshot.called(title)[:_SAME_TITLE])
    visible = ([t.id for t in bundle.techniques if t.hidden is None] for bundle in bundles)
    return [techniques[0] for techniques in visible if techniques]


def _rows(groups: Sequence[Group], views: dict[str, TechniqueView], fits: Mapping[str, float]) -> tuple[SearchRow, ...]:
    rows: list[SearchRow] = []
    for group in reversed([_with_code(group, views) for group in groups if group.lead in views]):
        score = max(fits.get(group.lead, 0.0), rows[-1].score if rows else 0.0)
        inside = [
            Relative(
                id=t,
                name=views[t].technique.name,
                relation=relation(t, group.lead),
                score=round(min(fits.get(t, 0.0), score), 3),
            )
            for t in group.relatives[:MOST_RELATIVES]
            if t in views
        ]
        rows.append(search_row(views[group.lead], score, inside))
    return tuple(reversed(rows))


def _with_code(group: Group, views: dict[str, TechniqueView]) -> Group:
    """Returns the row. If the row's lead has no code, replaces it with a technique of the same name that has code, if
    there is one."""
    if views[group.lead].code is not None:
        return group
    for other in group.relatives[:MOST_RELATIVES]:
        if other in views and views[other].code is not None and relation(other, group.lead) == "same name":
            others = [t for t in group.relatives if above(t, other) or above(other, t)]
            return Group(other, [group.lead, *others])
    return group


def relation(technique: str, lead: str) -> str:
    """Returns how a technique is related to its row's lead."""
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
    earlier = (
        "" if snapshot.current else "; slightly out of date, because the indexes are being updated; try again later"
    )
    return f"{which}{years}, {filters.describe()}{f'; {undated}' if undated else ''}{earlier}"
