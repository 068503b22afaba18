"""A replica follows a graph elsewhere, and is what a fresh one would be."""

from pathlib import Path

from tests.store.graphs import FakeHashEmbedder, a_paper
from xkg.errors import StoreUnreachableError
from xkg.model import PaperBundle
from xkg.store.decisions import Decision
from xkg.store.feed import Changes, Position
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
        self.papers |= {paper.paper.id: (self.counter, paper) for paper in papers}

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
