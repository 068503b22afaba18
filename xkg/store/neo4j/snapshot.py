"""`RemoteSnapshot`: one graph read directly from Neo4j, until its next commit."""

import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, LiteralString

from cachetools import LRUCache
from neo4j import ManagedTransaction

from xkg.attestations.trust import vouchers
from xkg.embeddings.base import EncodedText
from xkg.model import Code, Level, Paper, PaperBundle, paper_of
from xkg.store import rows
from xkg.store.concepts.citations import citations_among, citations_of
from xkg.store.graph_store import MOST_TITLES, Background, Coverage, Facts, Heading, Hit, Link, PaperLine, TechniqueView
from xkg.store.index_entries import encodable, searched_entries
from xkg.store.indexes.catalogue import begins_with, name_key
from xkg.store.neo4j import name_lookup
from xkg.store.unknown_id import unknown_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from xkg.store.neo4j.db.connection import Connection

ReadBundles = Callable[[ManagedTransaction, Sequence[str]], Iterator[PaperBundle]]
"""Papers by their own ids; missing ones are omitted."""

_MOST_BUNDLES = 256
"""The number of cached papers: more than one answer needs."""
_MOST_NAMES = 10_000
"""The number of cached name look-ups; every query is one."""
_SUBSTITUTE = re.compile(r"~[0-9a-f]{12}$")
"""The end of a key that `rows.key` makes for an id that no engine can hold."""

_IDS: LiteralString = "MATCH (b:XkgBundle) WHERE b.removed = false RETURN b.paper"
_PAPERS: LiteralString = (
    "MATCH (b:XkgBundle) WHERE b.removed = false MATCH (p:Paper {id: b.id}) RETURN b.paper, properties(p)"
)
_COUNTS: LiteralString = (
    "MATCH (t:Technique) OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code) RETURN split(t.id, '#')[0], c.level, count(*)"
)
_ATTESTED: LiteralString = (
    "MATCH (c:Code {level: 'claimed'}) WHERE size(c.attested_by) > 0 "
    "RETURN split(c.id, '#')[0], c.claimed, c.attested_by"
)
_LINKS: LiteralString = (
    "MATCH (a:Technique)-[s:SAME_CONCEPT]->(b:Technique) RETURN a.id, b.id, s.score, s.how ORDER BY a.id, b.id"
)


class RemoteSnapshot:
    """`xkg.store.graph_store.Snapshot` over a Neo4j at or after `generation`.

    Papers are cached by id, so that an answer sees one state; `techniques` omits techniques that vanished since a
    search. Names and ids can be looked up; methods that need a copy's indexes return nothing. Thread-safe. Raises the
    errors of the connection."""

    searchable = False

    def __init__(self, connection: "Connection", generation: int, read_bundles: ReadBundles) -> None:
        self._connection = connection
        self._read_bundles = read_bundles
        self._turn = threading.RLock()
        self._cached: LRUCache[str, _PaperViews | None] = LRUCache(_MOST_BUNDLES)
        self._names: LRUCache[str, tuple[str, ...]] = LRUCache(_MOST_NAMES)
        self._papers: tuple[Paper, ...] | None = None
        self._paper_ids: list[str] | None = None
        self._citations: tuple[tuple[str, str], ...] | None = None
        self.generation = generation

    def papers(self) -> Sequence[Paper]:
        """All papers in id order, from the graph's own nodes, without `claims` of imported files."""
        with self._turn:
            if self._papers is None:
                papers = [_paper(json.loads(own), node) for own, node in self._read(_PAPERS)]
                self._papers = tuple(sorted(papers, key=lambda paper: paper.id))
            return self._papers

    def paper_lines(self) -> Sequence[PaperLine]:
        levels: dict[str, dict[Level, int]] = {}
        techniques: Counter[str] = Counter()
        for paper, level, count in self._read(_COUNTS):
            techniques[paper] += count
            if level is not None:
                levels.setdefault(paper, {})[Level(level)] = count
        attested = defaultdict[str, list[tuple[Level, tuple[tuple[str, Level], ...]]]](list)
        for paper, claimed, keys in self._read(_ATTESTED):
            attested[paper].append((Level.CLAIMED, tuple((key, Level(claimed)) for key in keys)))
        return [
            PaperLine(
                paper.id, paper.title, paper.authors, paper.year, paper.origin, paper.state, paper.built_at,
                paper.cost_usd, techniques[own], levels.get(own, {}), tuple(attested.get(own, ())), paper.subfield,
            )
            for paper in self.papers()
            for own in (encodable(paper.id),)
        ]  # fmt: skip

    def paper_count(self) -> int:
        return len(self.paper_ids())

    def called(self, words: str, most: int = MOST_TITLES) -> Sequence[str]:
        if self._views([words])[words] is not None:
            return [words]
        if not (key := name_key(words)):
            return []
        same = [paper.id for paper in self.papers() if name_key(paper.title) == key]
        return (same or [paper.id for paper in self.papers() if begins_with(paper.title, key)])[:most]

    def headings(self, ids: Sequence[str]) -> dict[str, Heading]:
        known = {paper.id: paper for paper in self.papers()}
        return {paper: Heading(known[paper].title, known[paper].year) for paper in ids if paper in known}

    def of_years(self, first: int | None, last: int | None) -> Sequence[str]:
        years = [(paper.id, paper.year) for paper in self.papers() if paper.year is not None]
        return [id for id, year in years if (first is None or year >= first) and (last is None or year <= last)]

    def require_paper(self, paper: str) -> None:
        """Raises `UnknownIdError` if there is no such paper."""
        self.bundle(paper)

    def bundle(self, paper: str) -> PaperBundle:
        views = self._views([paper])[paper]
        if views is None:
            raise unknown_id("paper", paper, self)
        return views.bundle

    def technique(self, technique: str) -> TechniqueView:
        found = self.techniques([technique])
        if not found:
            raise unknown_id("technique", technique, self)
        return found[0]

    def techniques(self, ids: Sequence[str]) -> Sequence[TechniqueView]:
        """Views of these techniques in order, without missing ones; their papers are read together."""
        known = self._views([paper_of(technique) for technique in ids])
        found = ((known[paper_of(technique)], technique) for technique in ids)
        return [views.of[technique] for views, technique in found if views is not None and technique in views.of]

    def code(self, code: str) -> Code:
        views = self._views([paper_of(code)])[paper_of(code)]
        technique = None if views is None else views.of.get(code.rpartition("@")[0])
        if technique is None or technique.code is None or technique.code.id != code:
            raise unknown_id("code", code, self)
        return technique.code

    def named(self, name: str) -> Sequence[str]:
        with self._turn:
            if name not in self._names:
                found = self._connection.read(lambda transaction: name_lookup.named(transaction, name))
                self._names[name] = tuple(found)
            return self._names[name]

    def links(self) -> Sequence[Link]:
        """`SAME_CONCEPT` between techniques, ordered by ids; pairs that wait for a decision are not in the graph."""
        drawn = self._read(_LINKS)
        own = self._own_ids({key for first, second, *_ in drawn for key in (first, second)})
        return [
            Link(first=own[first], second=own[second], score=score, how=how)
            for first, second, score, how in drawn
            if first in own and second in own
        ]

    def links_of(self, ids: Sequence[str]) -> Sequence[Link]:
        wanted = set(ids)
        return [link for link in self.links() if link.first in wanted or link.second in wanted]

    def find_text(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:  # noqa: ARG002
        return []

    def find_code(self, query: str, k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:  # noqa: ARG002
        return []

    def spelled(self, word: str) -> str | None:  # noqa: ARG002
        return None

    def find_vector(self, vector: "NDArray[np.float32]", k: int, papers: Sequence[str] = ()) -> Sequence[Hit]:  # noqa: ARG002
        return []

    def matched(self, query: str, ids: Sequence[str]) -> tuple[dict[str, float], float]:  # noqa: ARG002
        return {}, 0.0

    def interaction(self, reading: EncodedText, ids: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        return {}

    def name_coverage(self, reading: EncodedText, ids: Sequence[str]) -> dict[str, Coverage]:  # noqa: ARG002
        return {}

    def background(self, vector: "NDArray[np.float32]") -> Background:  # noqa: ARG002
        return Background(0.0, 0.0, 0)

    def vectors(self, ids: Sequence[str]) -> "dict[str, NDArray[np.float32]]":  # noqa: ARG002
        return {}

    def facts(self, ids: Sequence[str]) -> dict[str, Facts]:
        return {view.technique.id: _facts(view) for view in self.techniques(ids)}

    def citations_of(self, paper: str) -> tuple[set[str], set[str]]:
        with self._turn:
            if self._citations is None:
                self._citations = citations_among(self.papers())
            return citations_of(self._citations, paper)

    # --- what `unknown_id` asks -------------------------------------------------------------------------------------

    def paper_ids(self) -> Sequence[str]:
        with self._turn:
            if self._paper_ids is None:
                self._paper_ids = sorted(json.loads(paper) for (paper,) in self._read(_IDS))
            return self._paper_ids

    def technique_ids(self, paper: str) -> Sequence[str]:
        views = self._views([paper])[paper]
        return () if views is None else tuple(views.of)

    def paper_bundle(self, paper: str) -> PaperBundle | None:
        views = self._views([paper])[paper]
        return None if views is None else views.bundle

    def _own_ids(self, keys: Collection[str]) -> dict[str, str]:
        """Techniques' own ids by their ids in the graph, which differ if the engine cannot hold an id."""
        own = {key: key for key in keys if not _SUBSTITUTE.search(key)}
        strange = [key for key in keys if key not in own]
        if strange:
            papers = [paper for paper in self.paper_ids() if any(k.startswith(f"{encodable(paper)}#") for k in strange)]
            techniques = (technique for views in self._views(papers).values() if views for technique in views.of)
            known = {rows.key(technique): technique for technique in techniques}
            own.update((key, known[key]) for key in strange if key in known)
        return own

    def _views(self, papers: Sequence[str]) -> "dict[str, _PaperViews | None]":
        """These papers, each read once while it is cached; None for a missing one."""
        wanted = dict.fromkeys(papers)
        with self._turn:
            found = {paper: self._cached[paper] for paper in wanted if paper in self._cached}
            missing = [paper for paper in wanted if paper not in found]
            if missing:
                read = self._connection.read(lambda transaction: list(self._read_bundles(transaction, missing)))
                by_id = {bundle.paper.id: _PaperViews(bundle) for bundle in read}
                fresh = {paper: by_id.get(paper) for paper in missing}
                self._cached.update(fresh)
                found.update(fresh)
            return found

    def _read(self, statement: LiteralString, **parameters: Any) -> list[tuple[Any, ...]]:
        return self._connection.read(lambda tx: [tuple(record) for record in tx.run(statement, parameters)])


def _facts(view: TechniqueView) -> Facts:
    paper, code = paper_of(view.technique.id), view.code
    if code is None:
        return Facts(paper=paper, level=Level.NONE)
    own = vouchers(code)
    return Facts(paper=paper, level=code.level, language=code.language, packages=code.packages, vouchers=own)


class _PaperViews:
    """A paper's bundle and the views of its searchable techniques, by id and in order."""

    def __init__(self, bundle: PaperBundle) -> None:
        self.bundle = bundle
        searched = searched_entries(bundle)
        with_code: set[str | None] = set()
        for entry in sorted(searched, key=lambda e: -len(e.path)):  # components before their parents
            if entry.code is not None or entry.technique.id in with_code:
                with_code |= {entry.technique.id, entry.technique.parent}
        self.of = {
            entry.technique.id: TechniqueView(
                technique=entry.technique,
                paper_title=bundle.paper.title,
                path=entry.path,
                children=tuple(
                    e.technique
                    for e in searched
                    if e.technique.parent == entry.technique.id
                    and (e.technique.hidden is None or entry.technique.hidden is not None)
                ),
                code=entry.code,
                without_code=tuple(
                    e.technique.name
                    for e in searched
                    if e.technique.parent == entry.technique.id and e.technique.id not in with_code
                ),
            )
            for entry in searched
        }


def _paper(own: str, node: dict[str, Any]) -> Paper:
    known = {name: value for name, value in node.items() if name in Paper.model_fields}
    references = known.get("references")
    return Paper.model_validate(
        {**known, "id": own, "references": None if references is None else json.loads(references)}
    )
