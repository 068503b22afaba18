"""Applies the setting `serve.exclude`, which keeps papers out of every answer: papers that a blacklist lists, and
papers built from a repository that it lists. This lets agents under test use a graph that others need in full."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from xkg.blacklist import Blacklist
from xkg.embeddings.base import EncodedText
from xkg.errors import UnknownIdError
from xkg.model import Code, Paper, PaperBundle, paper_of
from xkg.store.graph_store import (
    MOST_TITLES,
    Background,
    Coverage,
    Facts,
    GraphStore,
    Heading,
    Hit,
    Link,
    PaperLine,
    Snapshot,
    TechniqueView,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_REPOSITORIES = (
    "MATCH (p:Paper)-[:HAS_REPOSITORY]->(r:Repository) WHERE r.id > $after "
    "RETURN r.id AS repository, r.url AS url, collect(p.id) AS papers ORDER BY repository LIMIT $most"
)
_MOST = 10_000
_MORE_HITS = 2
"""Factor by which more hits are requested, because some are left out."""


def excluded_papers(store: GraphStore, snapshot: Snapshot, blacklist: Blacklist) -> dict[str, str]:
    """Maps the ids of papers that a blacklist excludes to the reason. Reads the metadata of all papers in the graph."""
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


class WithoutExcluded:
    """A `Snapshot` without the papers `hidden`."""

    def __init__(self, snapshot: Snapshot, hidden: Mapping[str, str]) -> None:
        self._inner, self._hidden = snapshot, hidden
        self.generation, self.current = snapshot.generation, snapshot.current

    def papers(self) -> Sequence[Paper]:
        return [paper for paper in self._inner.papers() if paper.id not in self._hidden]

    def paper_lines(self) -> Sequence[PaperLine]:
        return [line for line in self._inner.paper_lines() if line.id not in self._hidden]

    def paper_count(self) -> int:
        return self._inner.paper_count() - len(self._hidden)

    def called(self, words: str, most: int = MOST_TITLES) -> Sequence[str]:
        return self._shown(self._inner.called(words, most + len(self._hidden)))[:most]

    def headings(self, ids: Sequence[str]) -> Mapping[str, Heading]:
        return self._inner.headings(self._shown(ids))

    def paper_ids(self) -> Sequence[str]:
        return self._shown(self._inner.paper_ids())

    def of_years(self, first: int | None, last: int | None) -> Sequence[str]:
        return self._shown(self._inner.of_years(first, last))

    def require_paper(self, paper: str) -> None:
        with self._known(paper):
            self._inner.require_paper(paper)

    def bundle(self, paper: str) -> PaperBundle:
        with self._known(paper):
            return self._inner.bundle(paper)

    def technique(self, technique: str) -> TechniqueView:
        with self._known(technique):
            return self._inner.technique(technique)

    def techniques(self, ids: Sequence[str]) -> Sequence[TechniqueView]:
        with self._known(*ids):
            return self._inner.techniques(ids)

    def code(self, code: str) -> Code:
        with self._known(code):
            return self._inner.code(code)

    def named(self, name: str) -> Sequence[str]:
        return self._shown(self._inner.named(name))

    def technique_ids(self, paper: str) -> Sequence[str]:
        return [] if paper in self._hidden else self._inner.technique_ids(paper)

    def links(self) -> Sequence[Link]:
        return self._linked(self._inner.links())

    def links_of(self, ids: Sequence[str]) -> Sequence[Link]:
        return self._linked(self._inner.links_of(self._shown(ids)))

    def find_text(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:
        return self._found(lambda more, within: self._inner.find_text(query, more, within), k, papers)

    def find_code(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:
        return self._found(lambda more, within: self._inner.find_code(query, more, within), k, papers)

    def spelled(self, word: str) -> str | None:
        return self._inner.spelled(word)

    def find_vector(self, vector: "NDArray[np.float32]", k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:
        return self._found(lambda more, within: self._inner.find_vector(vector, more, within), k, papers)

    def matched(self, query: str, ids: Sequence[str]) -> tuple[Mapping[str, float], float]:
        return self._inner.matched(query, self._shown(ids))

    def interaction(self, reading: EncodedText, ids: Sequence[str]) -> Mapping[str, float]:
        return self._inner.interaction(reading, self._shown(ids))

    def name_coverage(self, reading: EncodedText, ids: Sequence[str]) -> Mapping[str, Coverage]:
        return self._inner.name_coverage(reading, self._shown(ids))

    def background(self, vector: "NDArray[np.float32]") -> Background:
        return self._inner.background(vector)

    def vectors(self, ids: Sequence[str]) -> "Mapping[str, NDArray[np.float32]]":
        return self._inner.vectors(self._shown(ids))

    def facts(self, ids: Sequence[str]) -> Mapping[str, Facts]:
        return self._inner.facts(self._shown(ids))

    def citations_of(self, paper: str) -> tuple[set[str], set[str]]:
        with self._known(paper):
            cites, cited = self._inner.citations_of(paper)
        return cites - self._hidden.keys(), cited - self._hidden.keys()

    def _shown(self, ids: Sequence[str]) -> list[str]:
        return [each for each in ids if paper_of(each) not in self._hidden]

    def _linked(self, links: Sequence[Link]) -> list[Link]:
        return [link for link in links if len(self._shown([link.first, link.second])) == 2]

    def _found(
        self, find: Callable[[int, Sequence[str]], Sequence[Hit]], k: int, papers: Sequence[str]
    ) -> Sequence[Hit]:
        within = self._shown(papers)
        if papers and not within:
            return []
        more = k
        while True:  # until k hits may be shown, or there are no more
            hits = find(more, within)
            shown = [hit for hit in hits if paper_of(hit.id) not in self._hidden]
            if len(shown) >= k or len(hits) < more:
                return shown[:k]
            more *= _MORE_HITS

    @contextmanager
    def _known(self, *ids: str) -> Iterator[None]:
        """Treats a hidden id as unknown. The error suggests similar ids, but never a hidden one."""
        for each in ids:
            if paper_of(each) in self._hidden:
                raise UnknownIdError(f"there is no {each} in this graph; search for it, or list the papers")
        try:
            yield
        except UnknownIdError as error:
            if any(hidden in str(error) for hidden in self._hidden):
                raise UnknownIdError(f"there is no {' or '.join(ids)[:300]} in this graph; search for it") from None
            raise


def query_refused(hidden: Mapping[str, str]) -> str | None:
    """Returns why Cypher, which reaches every node, is off; None if nothing is hidden."""
    if not hidden:
        return None
    return (
        f"this graph holds {len(hidden)} papers that serve.exclude keeps out, so Cypher, which would reach them, is "
        "off: use the other tools, or serve a graph without them (xkg remove)"
    )
