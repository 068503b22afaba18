"""Checks that a replica follows another graph and equals a new copy of it."""

import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import strategies as st

from tests.store.concepts.test_linking import ByFirstWord
from tests.store.graphs import FakeHashEmbedder, a_paper, open_store
from xkg.errors import (
    CorruptStoreError,
    EmbeddingError,
    StoreBusyError,
    StoreError,
    StoreUnreachableError,
    UnknownIdError,
)
from xkg.model import PaperBundle
from xkg.store.change_feed import Changes, Position
from xkg.store.concepts.decisions import judged, text_hash
from xkg.store.graph_store import Decision, Hit, Relation
from xkg.store.local import generation
from xkg.store.local.replica import Replica


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


MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


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


@pytest.fixture
def folder() -> Iterator[Path]:
    """Creates a folder in memory if the system supports it, to avoid waiting for the disk."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


def test_a_replica_shows_what_the_graph_holds(folder: Path) -> None:
    feed = FeedInMemory()
    replica = follow(folder, feed)
    assert titles(replica) == []
    feed.put(a_paper(1), a_paper(2))
    assert titles(replica) == ["Paper 1", "Paper 2"]
    feed.delete(a_paper(1).paper.id)
    feed.put(a_paper(3))
    assert titles(replica) == ["Paper 2", "Paper 3"]
    pulls = len(feed.pulls)
    assert titles(replica) == ["Paper 2", "Paper 3"]
    assert len(feed.pulls) == pulls, "nothing is pulled where nothing changed"
    with replica.snapshot() as snapshot:
        assert snapshot.generation == feed.counter
        assert snapshot.bundle(a_paper(3).paper.id) == a_paper(3)
        first_two = snapshot.find_text("method", 2)
        assert [hit.id for hit in first_two] == ["arxiv:2101.00002#method", "arxiv:2101.00003#method"]
        assert snapshot.find_vector(FakeHashEmbedder().embed(["x"])[0], 3)
    assert not list(folder.rglob("graph.lbug"))
    with replica.snapshot() as snapshot:
        (pair, *_) = snapshot.links()
    feed.decide(*decided(replica, "same"))
    with replica.snapshot() as snapshot:
        assert {(link.first, link.second): link.how for link in snapshot.links()}[pair.first, pair.second] == "model"


def test_in_the_background_there_is_nothing_until_it_is_made(folder: Path) -> None:
    feed = fed(a_paper(1))
    replica = follow(folder, feed, background=True)
    require_nothing_yet(replica)
    replica.wait()
    assert titles(replica) == ["Paper 1"]
    feed.put(a_paper(2))
    assert titles(replica) == ["Paper 1", "Paper 2"], "a small step is waited for"
    replica.close()


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


def test_a_change_costs_what_changed(folder: Path) -> None:
    embedder, feed = FakeHashEmbedder(), FeedInMemory()
    feed.put(*some_papers(*range(1, 11)))
    replica = Replica(folder, feed, lambda: embedder, background=False)
    titles(replica)
    embedder.texts.clear()
    feed.given.clear()
    feed.put(a_paper(3, note="changed"))
    feed.delete(a_paper(4).paper.id)
    feed.put(a_paper(4, note="back"))
    feed.delete(a_paper(5).paper.id)
    with edited():
        assert len(titles(replica)) == 9
    assert feed.given == ["arxiv:2101.00003", "arxiv:2101.00004"]
    assert len(embedder.texts) == 2, "of two papers, one technique each has another text"
    assert changed_of(folder) == 15
    with replica.snapshot() as snapshot:
        assert snapshot.technique("arxiv:2101.00003#method").technique.definition == "All of it. changed"
        with pytest.raises(UnknownIdError):
            snapshot.find_text("method", 3, ["arxiv:2101.00005"])


def test_in_the_background_much_changed_indexes_are_made_anew(folder: Path) -> None:
    feed = fed(*some_papers(*range(1, 11)))
    replica = follow(folder, feed, background=True)
    require_nothing_yet(replica)
    replica.wait()
    with edited(share=1):
        feed.put(*(a_paper(number, note="again") for number in (1, 2, 3)))
        assert len(titles(replica)) == 10
        assert changed_of(folder) == 18
        feed.put(*(a_paper(number, note="far behind") for number in range(1, 11)))
        with replica.snapshot() as snapshot:
            assert not snapshot.current
            assert snapshot.bundle("arxiv:2101.00009") == a_paper(9), "an earlier state while it is far behind"
        replica.wait()
        assert not changed_of(folder)
    with replica.snapshot() as snapshot:
        assert snapshot.bundle("arxiv:2101.00009") == a_paper(9, note="far behind")
    replica.close()


def test_while_another_process_indexes_everything_an_earlier_state_is_read(folder: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(FakeHashEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            begun.set()
            go_on.wait()
            return super().embed(texts)

    feed, first = following(folder, *some_papers(1, 2))
    slow = Replica(folder, feed, Slow, model="fake-hash", background=True)
    other = follow(folder, feed, background=True)
    with edited(share=0):
        feed.put(a_paper(3))
        slow.wait()
        assert titles(slow) == ["Paper 1", "Paper 2"]
        begun.wait()
        for _ in range(3):
            with other.snapshot() as snapshot:
                assert not snapshot.current
                assert len(snapshot.find_text("method", 9)) == 6
        go_on.set()
        slow.wait()
        other.wait()
        assert titles(other) == ["Paper 1", "Paper 2", "Paper 3"]
    for replica in (first, slow, other):
        replica.close()


def test_one_who_reads_an_old_state_goes_on_reading_it(folder: Path) -> None:
    feed = fed(*some_papers(1, 2))
    replica, other = follow(folder, feed), follow(folder, feed)
    with edited(), replica.snapshot() as old:
        for note in "abc":
            feed.put(a_paper(1, note=note))
            titles(other)
        with edited(share=0):
            feed.delete(a_paper(2).paper.id)
            assert titles(other) == ["Paper 1"]
        assert old.bundle("arxiv:2101.00002") == a_paper(2)
        assert len(old.find_text("method", 9)) == 6
        assert len(old.find_vector(FakeHashEmbedder().embed(["x"])[0], 9)) == 6
    assert titles(replica) == ["Paper 1"]


def test_of_two_at_once_one_pulls(folder: Path) -> None:
    feed = fed(*some_papers(*range(1, 6)))
    replicas = [follow(folder, feed) for _ in range(4)]
    assert titles(replicas[0]) == titles(replicas[1])
    for small in (0, 2000):
        feed.put(a_paper(1, note=str(small)))
        behind = feed.counter - 1
        feed.pulls.clear()
        with edited() if not small else nullcontext():
            threads = [threading.Thread(target=titles, args=(replica,)) for replica in replicas]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert feed.pulls == [Position("one", behind)]
        assert [titles(replica) for replica in replicas] == [titles(replicas[0])] * 4


def spoil(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x41
    path.write_bytes(data)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "no CURRENT": lambda folder: (folder / "CURRENT").unlink(),
    "the manifest": lambda folder: spoil(next(folder.glob("generations/*/manifest.json"))),
    "vectors": lambda folder: spoil(next(folder.glob("generations/*/vectors.faiss"))),
    "everything": lambda folder: (
        [spoil(path) for path in folder.rglob("*") if path.is_file() and path.stat().st_size] and None
    ),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_what_is_lost_or_damaged_is_made_anew(folder: Path, how: str) -> None:
    feed, first = following(folder, *some_papers(1, 2, 3))
    with edited():
        feed.put(a_paper(3, note="changed"))
        titles(first)
        assert changed_of(folder)
    first.close()
    DAMAGE[how](folder)
    second = follow(folder, feed)
    with second.snapshot() as snapshot:
        assert [snapshot.bundle(paper.id) for paper in snapshot.papers()] == [
            *some_papers(1, 2),
            a_paper(3, note="changed"),
        ]
        assert len(snapshot.find_text("method", 9)) == 9
        assert len(snapshot.find_vector(FakeHashEmbedder().embed(["x"])[0], 9)) == 9


def bundles_of(replica: Replica) -> list[PaperBundle]:
    with replica.snapshot() as snapshot:
        return [snapshot.bundle(paper.id) for paper in snapshot.papers()]


def test_a_damaged_bundle_is_reported_once_and_then_read_anew(folder: Path) -> None:
    _feed, replica = following(folder, *some_papers(1, 2))
    spoil(next((folder / "bundles").iterdir()))
    with pytest.raises(CorruptStoreError):
        bundles_of(replica)
    assert bundles_of(replica) == some_papers(1, 2)


def test_another_graph_at_the_same_address_and_an_earlier_state_of_it_are_followed(folder: Path) -> None:
    feed = fed(*some_papers(1, 2))
    replica = follow(folder, feed)
    assert titles(replica) == ["Paper 1", "Paper 2"]
    replaced = FeedInMemory("two")
    replaced.put(a_paper(7))
    replaced.put()
    feed.graph, feed.papers, feed.counter = replaced.graph, replaced.papers, replaced.counter
    assert titles(replica) == ["Paper 7"]
    feed.put(a_paper(8))
    assert titles(replica) == ["Paper 7", "Paper 8"]
    feed.papers.pop(a_paper(8).paper.id)
    feed.counter -= 1
    assert titles(replica) == ["Paper 7"], "put back from a backup"


def test_a_graph_that_cannot_be_reached_is_no_reason_to_lose_anything(folder: Path) -> None:
    feed, replica = following(folder, a_paper(1))
    feed.down = True
    with pytest.raises(StoreUnreachableError), replica.snapshot():
        pass
    feed.down = False
    feed.pulls.clear()
    assert titles(replica) == ["Paper 1"]
    assert feed.pulls == []


def test_closing_ends_what_is_made_in_the_background(folder: Path) -> None:
    feed = fed(a_paper(1))
    begun, go_on = threading.Event(), threading.Event()

    class Slow(FakeHashEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            begun.set()
            go_on.wait()
            return super().embed(texts)

    replica = Replica(folder, feed, Slow, background=True)
    with mock.patch("xkg.store.local.build_files._ENCODED_AT_ONCE", 1):
        require_nothing_yet(replica)
        begun.wait()
        require_nothing_yet(replica)
        closing = threading.Thread(target=replica.close)
        closing.start()
        time.sleep(0.05)
        go_on.set()
        closing.join()
    assert titles(follow(folder, feed)) == ["Paper 1"]


def test_a_folder_that_holds_a_graph_of_its_own_is_left_alone(folder: Path) -> None:
    store = open_store(folder)
    store.publish([a_paper(1)])
    feed = fed(a_paper(2))
    with pytest.raises(StoreError, match="original graph"), follow(folder, feed).snapshot():
        pass
    assert list((folder / "bundles").iterdir())


# Python 3.12 and later warn about forks in a process with threads. The children do not touch the threads' data.
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("kills", [3, pytest.param(9, marks=pytest.mark.product("more kills"))])
def test_kills_at_random_moments_leave_nothing_that_hurts(folder: Path, kills: int) -> None:
    feed = fed(*some_papers(*range(1, 9)))
    replica = follow(folder, feed)
    moments = random.Random(5)
    with edited(share=1):
        titles(replica)
        longest = 0.1
        for n in range(kills):
            feed.put(a_paper(1 + n % 8, note=str(n)), a_paper(20 + n % 3, note=str(n)))
            feed.delete(a_paper(20 + (n + 1) % 3).paper.id)
            child = os.fork()
            if child == 0:
                try:
                    titles(follow(folder, feed))
                finally:
                    os._exit(0)
            time.sleep(moments.uniform(0, 1.2 * longest))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            began = time.monotonic()
            survivor = follow(folder, feed)
            with survivor.snapshot() as snapshot:
                expected = {paper: bundle for paper, (_, bundle) in feed.papers.items() if bundle is not None}
                assert {paper.id: snapshot.bundle(paper.id) for paper in snapshot.papers()} == expected
                assert len(snapshot.find_text("method", 99)) == 3 * len(expected)
            survivor.close()
            longest = max(longest, time.monotonic() - began)
        with edited(share=0):
            feed.put()
            titles(replica)
    names = {path.name for path in folder.iterdir()}
    assert names <= {"CURRENT", "bundles", "generations", "links", "write.lock"}
    assert not [path for path in folder.rglob(".*") if path.suffix == ".tmp" or path.name.startswith(".building")]


def test_with_another_embedding_model_all_is_embedded_anew(folder: Path) -> None:
    feed = fed(a_paper(1))
    titles(follow(folder, feed))
    other = Replica(folder, feed, lambda: FakeHashEmbedder("other", 8), model="other", background=False)
    with other.snapshot() as snapshot:
        assert len(snapshot.find_vector(FakeHashEmbedder("other", 8).embed(["x"])[0], 9)) == 3


def test_a_failed_background_task_is_reported_and_retried(folder: Path) -> None:
    feed = fed(a_paper(1))

    def no_model() -> FakeHashEmbedder:
        raise EmbeddingError("no weights on this machine: fetch them")

    broken = Replica(folder, feed, no_model, background=True)
    require_nothing_yet(broken)
    with pytest.raises(EmbeddingError, match="no weights"):
        broken.wait()
    broken.close()
    repaired = follow(folder, feed, background=True)
    require_nothing_yet(repaired)
    repaired.wait()
    assert titles(repaired) == ["Paper 1"]
