"""Follows a graph in memory, and reads all that a graph holds."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import strategies as st

from tests.store.concepts.test_linking import ByFirstWord
from tests.store.graphs import FakeHashEmbedder, a_paper
from xkg.errors import StoreBusyError, StoreUnreachableError
from xkg.model import PaperBundle
from xkg.store.change_feed import Changes, Position
from xkg.store.concepts.decisions import judged, text_hash
from xkg.store.graph_store import Decision, Hit, Relation
from xkg.store.local import generation
from xkg.store.local.replica import Replica

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class FeedInMemory:
    """Imitates a graph on a server. Stores bundles and tombstones, and counts requests."""

    def __init__(self, graph: str = "one") -> None:
        self.graph = graph
        self.counter = 0
        self.papers: dict[str, tuple[int, PaperBundle | None]] = {}
        self.decisions: tuple[int, tuple[Decision, ...]] = (0, ())
        self.down = False
        self.pulls: list[Position | None] = []
        self.given: list[str] = []

    def put(self, *papers: PaperBundle) -> None:
        self.counter += 1
        self.papers |= {one.paper.id: (self.counter, one) for one in papers}

    def delete(self, *papers: str) -> None:
        self.counter += 1
        self.papers |= dict.fromkeys(papers, (self.counter, None))

    def decide(self, *decisions: Decision) -> None:
        self.counter += 1
        self.decisions = (self.counter, decisions)

    def position(self) -> Position:
        if self.down:
            raise StoreUnreachableError("the server does not answer: start it")
        return Position(self.graph, self.counter)

    def changes(self, since: Position | None) -> Changes:
        to = self.position()
        self.pulls.append(since)
        whole = since is None or since.graph != self.graph or since.counter > self.counter
        after = -1 if since is None or whole else since.counter
        changed = {paper: bundle for paper, (at, bundle) in self.papers.items() if at > after}
        at, decisions = self.decisions
        present = [bundle for bundle in changed.values() if bundle is not None]
        self.given += [bundle.paper.id for bundle in present]
        removed = frozenset() if whole else frozenset(paper for paper, bundle in changed.items() if bundle is None)
        return Changes(to, whole, iter(present), removed, decisions if at > after else None)


def follow(folder: Path, feed: FeedInMemory, *, background: bool = False) -> Replica:
    return Replica(folder, feed, FakeHashEmbedder, model="fake-hash", background=background)


def fed(*papers: PaperBundle) -> FeedInMemory:
    feed = FeedInMemory()
    feed.put(*papers)
    return feed


def following(folder: Path, *papers: PaperBundle) -> tuple[FeedInMemory, Replica]:
    """Returns a feed of these papers, and a replica that has read them."""
    feed = fed(*papers)
    replica = follow(folder, feed)
    titles(replica)
    return feed, replica


def require_nothing_yet(replica: Replica) -> None:
    with pytest.raises(StoreBusyError, match="being built"), replica.snapshot():
        pass


def titles(replica: Replica) -> list[str]:
    with replica.snapshot() as snapshot:
        return [paper.title for paper in snapshot.papers()]


NAMES = ["Sparse gates", "SG", "Sparse Gates (SG)", "Training", "Soft gates", "Bare"]
DEFINITIONS = ["cos0.2 x", "cos0.5 y", "cos0.7 z", "cos0.99", "cos0.99 w", ""]
some_techniques = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(DEFINITIONS)), max_size=3)


def everything(replica: Replica) -> object:
    """Returns all data that can be read from a graph, ignoring the order of text hits."""
    with replica.snapshot() as snapshot:
        papers = [paper.id for paper in snapshot.papers()]
        found = {paper: snapshot.bundle(paper) for paper in papers}
        ids = [technique.id for bundle in found.values() for technique in bundle.techniques]
        vector = ByFirstWord().embed(["cos0.70 q"])[0]
        known = [view.technique.id for view in snapshot.techniques(ids)]
        shared, words = snapshot.matched("sparse gates for training that nobody has", known)
        background = snapshot.background(vector)
        (reading,) = ByFirstWord().encode(["the sparse gates, trained"])
        text = [snapshot.find_text("sparse gates", 50, among) for among in ([], *([paper] for paper in papers))]
        return (
            found,
            snapshot.techniques(ids),
            [snapshot.named(name) for name in NAMES],
            snapshot.links(),
            [round(hit.score, 4) for hit in snapshot.find_vector(vector, 2)],
            _rounded(snapshot.find_vector(vector, 50)),
            [_rounded(snapshot.find_vector(vector, 50, [paper])) for paper in papers],
            ({t: round(share, 4) for t, share in shared.items()}, round(words, 4)),
            snapshot.facts(ids),
            sorted((t, found.round(4).tolist()) for t, found in snapshot.vectors(ids).items()),
            snapshot.paper_count(),
            snapshot.headings(papers),
            snapshot.paper_ids(),
            snapshot.paper_lines(),
            [snapshot.of_years(*years) for years in ((None, None), (2020, None), (None, 2019))],
            [snapshot.called(words) for paper in snapshot.papers() for words in (paper.id, paper.title.upper())],
            [snapshot.links_of([technique]) for technique in known],
            [snapshot.citations_of(paper) for paper in papers],
            background.techniques,
            {t: round(near, 4) for t, near in snapshot.interaction(reading, known).items()},
            [{hit.id for hit in hits} for hits in text],
        )


def _rounded(hits: Sequence[Hit]) -> list[tuple[float, str]]:
    return sorted((-round(hit.score, 4), hit.id) for hit in hits)


@contextmanager
def edited(share: float = 100.0) -> Iterator[None]:
    """Makes every publish patch the indexes if at most this share of the techniques changes, regardless of the graph's
    size."""
    with mock.patch.multiple("xkg.store.local.build_files", SMALL=0, SHARE=share):
        yield


def decided(replica: Replica, relation: Relation) -> list[Decision]:
    """Returns a decision about every second pair that is linked or undecided."""
    with replica.snapshot() as snapshot:
        return [
            Decision(
                first=link.first,
                second=link.second,
                judged=judged(*(text_hash(snapshot.technique(end).technique) for end in (link.first, link.second))),
                relation=relation,
                by="a test",
            )
            for link in (snapshot.links())[::2]
        ]


def changed_of(folder: Path) -> int:
    opened = generation.open_current(folder)
    assert opened is not None
    with opened:
        return opened.manifest.changed


def some_papers(*numbers: int) -> list[PaperBundle]:
    return [a_paper(number) for number in numbers]
