"""Holds the state shared by all answers from one generation of a graph, and filters the snapshot for its user. The
papers in `serve.exclude` are removed, and levels attested by trusted keys are added. Trust is applied when reading and
never stored, so revoking a key takes effect immediately."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from cachetools import LRUCache

from xkg.attestations.trust import Trust
from xkg.blacklist import Blacklist, read_blacklist
from xkg.errors import UnknownIdError
from xkg.model import Code, PaperBundle, paper_of
from xkg.serve.answers.measured import Ablations, by_technique
from xkg.serve.answers.paper_list import PaperList
from xkg.serve.answers.types import SearchAnswer
from xkg.store.graph_store import MOST_TITLES, Facts, GraphStore, Hit, Link, PaperLine, Snapshot, TechniqueView

ANSWERS = 64
"""Number of cached search answers. Each takes about 40 kB."""


class Generation:
    """A snapshot for a user who trusts the keys in `trust`. Papers listed in the file `exclude` are hidden. `trust` and
    `exclude` may be None. Properties are computed on first use. Raises `InputError` if `exclude` cannot be read,
    because an unfiltered answer could contain excluded papers."""

    def __init__(self, store: GraphStore, snapshot: Snapshot, trust: Trust | None, exclude: Path | None) -> None:
        self.snapshot, self.trust = snapshot, trust
        self._store, self._exclude = store, exclude
        self.answers: LRUCache[object, SearchAnswer] = LRUCache(ANSWERS)

    @cached_property
    def hidden(self) -> "Mapping[str, str]":
        """Maps the ids of excluded papers to the reasons."""
        if self._exclude is None or self.snapshot.generation == 0:
            return {}
        return excluded_papers(self._store, self.snapshot, read_blacklist(self._exclude))

    @cached_property
    def shown(self) -> Snapshot:
        """The snapshot without excluded papers, and with the levels attested by trusted keys."""
        attested = self.snapshot if self.trust is None else with_trust(self.snapshot, self.trust)
        return without(attested, self.hidden)

    @cached_property
    def ablations(self) -> Ablations:
        """All measured ablations, keyed by technique."""
        return by_technique(self._store.ablations())

    @cached_property
    def papers(self) -> PaperList:
        return PaperList(self.snapshot.generation, self.shown.paper_lines())


T = TypeVar("T")
R = TypeVar("R")
_REPOSITORIES = (
    "MATCH (p:Paper)-[:HAS_REPOSITORY]->(r:Repository) WHERE r.id > $after "
    "RETURN r.id AS repository, r.url AS url, collect(p.id) AS papers ORDER BY repository LIMIT $most"
)
_MOST = 10_000
_MORE_HITS = 2
"""Factor by which to increase the number of requested hits if too many are hidden."""


def excluded_papers(store: GraphStore, snapshot: Snapshot, blacklist: Blacklist) -> dict[str, str]:
    """Maps the ids of papers excluded by a blacklist to the reason. Reads the metadata of all papers in the graph."""
    found: dict[str, str] = {}
    for paper in snapshot.papers():
        reason = blacklist.paper(paper.arxiv_number, paper.doi, paper.title)
        if reason is not None:
            found[paper.id] = reason
    after: object = ""
    while blacklist.repositories and (
        rows := store.query(_REPOSITORIES, {"after": after, "most": _MOST}, rows=_MOST).rows
    ):
        for repository, url, papers in rows:
            if reason := blacklist.repository(str(url or "")) or blacklist.repository(str(repository)):
                found |= {str(paper): f"of its repository, {reason}" for paper in papers if paper not in found}
        after = rows[-1][0]
    return found


_AS_THEY_ARE = frozenset({"generation", "current", "spelled", "background"})
_LISTS = frozenset({"papers", "paper_lines", "paper_ids", "of_years", "named"})
_OF_IDS = frozenset({"headings", "matched", "interaction", "name_coverage", "vectors", "facts"})
_OF_ONE = frozenset({"require_paper", "bundle", "technique", "code"})
_SEARCHES = frozenset({"find_text", "find_code", "find_vector"})


def without(snapshot: Snapshot, hidden: Mapping[str, str]) -> Snapshot:
    """Returns the snapshot without the papers in `hidden`."""
    return cast(Snapshot, _Without(snapshot, hidden)) if hidden else snapshot


class _Without:
    """Exposes only the methods listed here, so that no other method can reveal a hidden paper."""

    def __init__(self, snapshot: Snapshot, hidden: Mapping[str, str]) -> None:
        self._inner, self._hidden = snapshot, hidden

    def __getattr__(self, name: str) -> Any:
        if name in _AS_THEY_ARE:
            return getattr(self._inner, name)
        if name in _LISTS:
            return lambda *given: self._visible(getattr(self._inner, name)(*given))
        if name in _OF_IDS:
            return lambda *given: getattr(self._inner, name)(*given[:-1], self._visible(given[-1]))
        if name in _OF_ONE:
            return lambda each: self._known(getattr(self._inner, name), each, [each])
        if name in _SEARCHES:
            return partial(self._found, getattr(self._inner, name))
        raise AttributeError(name)

    def paper_count(self) -> int:
        return self._inner.paper_count() - len(self._hidden)

    def called(self, words: str, most: int = MOST_TITLES) -> Sequence[str]:
        return self._visible(self._inner.called(words, most + len(self._hidden)))[:most]

    def techniques(self, ids: Sequence[str]) -> Sequence[TechniqueView]:
        return self._known(self._inner.techniques, ids, ids)

    def technique_ids(self, paper: str) -> Sequence[str]:
        return [] if paper in self._hidden else self._inner.technique_ids(paper)

    def links(self) -> Sequence[Link]:
        return self._linked(self._inner.links())

    def links_of(self, ids: Sequence[str]) -> Sequence[Link]:
        return self._linked(self._inner.links_of(self._visible(ids)))

    def citations_of(self, paper: str) -> tuple[set[str], set[str]]:
        cites, cited = self._known(self._inner.citations_of, paper, [paper])
        return cites - self._hidden.keys(), cited - self._hidden.keys()

    def _visible(self, each: Iterable[T]) -> list[T]:
        """Filters out ids, or values with an `id`, that belong to hidden papers."""
        return [one for one in each if paper_of(getattr(one, "id", str(one))) not in self._hidden]

    def _linked(self, links: Sequence[Link]) -> list[Link]:
        return [link for link in links if len(self._visible([link.first, link.second])) == 2]

    def _found(
        self, find: Callable[[Any, int, Sequence[str]], Sequence[Hit]], query: Any, k: int, papers: Sequence[str] = ()
    ) -> Sequence[Hit]:
        within = self._visible(papers)
        if papers and not within:
            return []
        more = k
        while True:  # repeat until there are k visible hits, or no more hits at all
            hits = find(query, more, within)
            shown = self._visible(hits)
            if len(shown) >= k or len(hits) < more:
                return shown[:k]
            more *= _MORE_HITS

    def _known(self, ask: Callable[[Any], R], given: Any, ids: Sequence[str]) -> R:
        """Raises `UnknownIdError` for a hidden id, as if the id were unknown. Errors never suggest hidden ids."""
        for each in ids:
            if paper_of(each) in self._hidden:
                raise UnknownIdError(f"there is no {each} in this graph; search for it, or list the papers")
        try:
            return ask(given)
        except UnknownIdError as error:
            if any(hidden in str(error) for hidden in self._hidden):
                raise UnknownIdError(f"there is no {' or '.join(ids)[:300]} in this graph; search for it") from None
            raise


def query_refused(hidden: Mapping[str, str]) -> str | None:
    """Returns the reason why Cypher queries, which can reach every node, are refused. Returns None if nothing is
    hidden."""
    if not hidden:
        return None
    return (
        f"serve.exclude hides {len(hidden)} papers in this graph, so Cypher, which could reach them, is "
        f"off; "
        f"use the other tools, or serve a graph without them (xkg remove)"
    )


def with_trust(snapshot: Snapshot, trust: Trust) -> Snapshot:
    """Returns the snapshot with the levels attested by the keys in `trust`."""
    return cast(Snapshot, _Trusted(snapshot, trust)) if trust.names else snapshot


class _Trusted:
    """Adjusts levels in answers. All other calls are delegated to the snapshot."""

    def __init__(self, snapshot: Snapshot, trust: Trust) -> None:
        self._inner, self._trust = snapshot, trust

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def paper_lines(self) -> Sequence[PaperLine]:
        return [self._line(line) if line.attested else line for line in self._inner.paper_lines()]

    def bundle(self, paper: str) -> PaperBundle:
        bundle = self._inner.bundle(paper)
        return bundle.model_copy(update={"code": tuple(map(self._trust.seen, bundle.code))})

    def technique(self, technique: str) -> TechniqueView:
        return self._view(self._inner.technique(technique))

    def techniques(self, ids: Sequence[str]) -> Sequence[TechniqueView]:
        return [self._view(view) for view in self._inner.techniques(ids)]

    def code(self, code: str) -> Code:
        return self._trust.seen(self._inner.code(code))

    def facts(self, ids: Sequence[str]) -> Mapping[str, Facts]:
        found = self._inner.facts(ids)
        return {each: self._revise(facts) if facts.vouchers else facts for each, facts in found.items()}

    def _revise(self, facts: Facts) -> Facts:
        return facts.model_copy(update={"level": self._trust.attested(facts.level, facts.vouchers)[0]})

    def _view(self, view: TechniqueView) -> TechniqueView:
        if view.code is None or not view.code.attestations:
            return view
        return view.model_copy(update={"code": self._trust.seen(view.code)})

    def _line(self, line: PaperLine) -> PaperLine:
        levels = Counter(line.levels)
        for level, vouchers in line.attested:
            levels[level] -= 1
            levels[self._trust.attested(level, vouchers)[0]] += 1
        return line._replace(levels={level: count for level, count in levels.items() if count > 0})
