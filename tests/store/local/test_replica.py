"""Checks that a replica follows another graph and equals a new copy of it."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.store.graphs import FakeHashEmbedder, a_paper, open_store
from tests.store.local.replicas import (
    FeedInMemory,
    changed_of,
    decided,
    edited,
    fed,
    follow,
    following,
    require_nothing_yet,
    some_papers,
    titles,
)
from xkg.errors import CorruptStoreError, EmbeddingError, StoreError, StoreUnreachableError, UnknownIdError
from xkg.model import PaperBundle
from xkg.store.change_feed import Position
from xkg.store.local.replica import Replica


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
