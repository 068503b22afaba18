"""A replica follows a graph elsewhere, and is what a fresh one would be."""

import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.graphs import FakeHashEmbedder, a_paper
from tests.store.test_linking import ByFirstWord, paper
from xkg.errors import StoreUnreachableError
from xkg.model import PaperBundle
from xkg.store import Hit, generation
from xkg.store.decisions import Decision, Relation, judged, text_hash
from xkg.store.feed import Changes, Position
from xkg.store.generation import Layers
from xkg.store.replica import Replica


class FeedInMemory:
    """A stand-in for a graph on a server: keeps bundles and tombstones as one would, and counts what it is asked."""

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


def titles(replica: Replica) -> list[str]:
    with replica.snapshot() as snapshot:
        assert snapshot is not None
        return [paper.title for paper in snapshot.papers()]


def test_a_replica_shows_what_the_graph_holds(tmp_path: Path) -> None:
    feed = FeedInMemory()
    replica = follow(tmp_path, feed)
    assert titles(replica) == []
    feed.put(a_paper(1), a_paper(2))
    assert titles(replica) == ["Paper 1", "Paper 2"]
    feed.delete(a_paper(1).paper.id)
    feed.put(a_paper(3))
    assert titles(replica) == ["Paper 2", "Paper 3"]
    asked = len(feed.pulls)
    assert titles(replica) == ["Paper 2", "Paper 3"]
    assert len(feed.pulls) == asked, "nothing is pulled where nothing changed"
    with replica.snapshot() as snapshot:
        assert snapshot is not None
        assert snapshot.generation == feed.counter
        assert snapshot.bundle(a_paper(3).paper.id) == a_paper(3)
        first_two = snapshot.find_text("method", 2)
        assert [hit.id for hit in first_two] == ["arxiv:2101.00002#method", "arxiv:2101.00003#method"]
        assert snapshot.find_vector(FakeHashEmbedder().embed(["x"])[0], 3)
    assert not list(tmp_path.rglob("graph.lbug"))


def test_in_the_background_there_is_nothing_until_it_is_made(tmp_path: Path) -> None:
    feed = FeedInMemory()
    feed.put(a_paper(1))
    replica = follow(tmp_path, feed, background=True)
    with replica.snapshot() as snapshot:
        assert snapshot is None
    replica.wait()
    assert titles(replica) == ["Paper 1"]
    feed.put(a_paper(2))
    assert titles(replica) == ["Paper 1", "Paper 2"], "a small step is waited for"
    replica.close()


NAMES = ["Sparse gates", "SG", "Sparse Gates (SG)", "Training", "Soft gates", "Bare"]
DEFINITIONS = ["cos0.2 x", "cos0.5 y", "cos0.7 z", "cos0.99", "cos0.99 w", ""]
some_techniques = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(DEFINITIONS)), max_size=3)
a_number = st.integers(1, 5)
step = st.one_of(
    st.tuples(st.just("put"), st.lists(st.tuples(a_number, some_techniques), min_size=1, max_size=3)),
    st.tuples(st.just("delete"), st.lists(a_number, min_size=1, max_size=2)),
    st.tuples(st.just("decide"), st.sampled_from(["same", "variant", "different"])),
    st.tuples(st.just("restart"), st.integers(0, 2)),
    st.tuples(st.just("read"), st.integers(0, 2)),
)


def everything(replica: Replica, *, ranked: bool) -> object:
    """What can be asked of a graph, apart from the order of text hits where that is not `ranked`."""
    with replica.snapshot() as snapshot:
        assert snapshot is not None
        papers = [paper.id for paper in snapshot.papers()]
        found = {paper: snapshot.bundle(paper) for paper in papers}
        ids = [technique.id for bundle in found.values() for technique in bundle.techniques]
        vector = ByFirstWord().embed(["cos0.70 q"])[0]
        text = [snapshot.find_text("sparse gates", 50, among) for among in ([], *([paper] for paper in papers))]
        return (
            found,
            snapshot.techniques(ids),
            [snapshot.named(name) for name in NAMES],
            snapshot.links(),
            [round(hit.score, 4) for hit in snapshot.find_vector(vector, 2)],
            _rounded(snapshot.find_vector(vector, 50)),
            [_rounded(snapshot.find_vector(vector, 50, [paper])) for paper in papers],
            text if ranked else [{hit.id for hit in hits} for hits in text],
        )


def _rounded(hits: Sequence[Hit]) -> list[tuple[float, str]]:
    return sorted((-round(hit.score, 4), hit.id) for hit in hits)


def layered(share: float = 100.0) -> AbstractContextManager[object]:
    """With this, graphs of any size have layers, which grow to this share of their base."""
    return mock.patch.multiple("xkg.store.replica", SMALL=0, SHARE=share)


def fresh(feed: FeedInMemory, *, ranked: bool) -> object:
    with tempfile.TemporaryDirectory() as folder:
        return everything(Replica(Path(folder), feed, ByFirstWord, background=False), ranked=ranked)  # type: ignore[arg-type]


@given(st.lists(step, min_size=3, max_size=10))
@settings(max_examples=25)
def test_readers_that_were_restarted_find_what_a_fresh_one_finds(steps: list[tuple[str, Any]]) -> None:
    feed = FeedInMemory()
    feed.put(*(paper(n, ("Sparse gates", "cos0.7 z"), ("Training", f"cos0.9{n}")) for n in (1, 3)))
    with tempfile.TemporaryDirectory() as place, layered():

        def reader(number: int) -> Replica:
            return Replica(Path(place) / str(number), feed, ByFirstWord, background=False)  # type: ignore[arg-type]

        readers = [reader(number) for number in range(3)]
        assert titles(readers[0]) == ["Paper 1", "Paper 3"]
        for what, given in steps:
            if what == "put":
                feed.put(*{number: paper(number, *content) for number, content in given}.values())
            elif what == "delete":
                feed.delete(*(paper(number).paper.id for number in given))
            elif what == "decide":
                feed.decide(*decided(readers[0], given))
            elif what == "restart":
                readers[given].close()
                readers[given] = reader(given)
            else:
                titles(readers[given])
        expected = fresh(feed, ranked=False)
        for one in readers:
            assert everything(one, ranked=False) == expected
        with layered(share=0):
            feed.put()
            expected = fresh(feed, ranked=True)
            for one in readers:
                assert everything(one, ranked=True) == expected
                one.close()


def decided(replica: Replica, relation: Relation) -> list[Decision]:
    """A decision about every second pair that is linked or waits."""
    with replica.snapshot() as snapshot:
        assert snapshot is not None
        return [
            Decision(
                first=link.first,
                second=link.second,
                judged=judged(*(text_hash(snapshot.technique(end).technique) for end in (link.first, link.second))),
                relation=relation,
                by="a test",
            )
            for link in (snapshot.links() or ())[::2]
        ]


def layers_of(folder: Path) -> Layers | None:
    with generation.open_current(folder) as opened:  # type: ignore[union-attr]
        return opened.manifest.layers
