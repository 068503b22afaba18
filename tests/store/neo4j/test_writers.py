"""Tests several writers at once, and a server that disappears during a commit."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from neo4j.exceptions import IncompleteCommit

from tests.neo4j_server import Neo4jServer
from tests.store.graphs import FakeHashEmbedder, a_paper
from tests.store.neo4j.proxy import Proxy, proxy_to
from tests.store.neo4j.stores import forget, open_remote, settings_for
from xkg.commands.build import build
from xkg.commands.graph.contents import import_graphs, push
from xkg.errors import StoreUnreachableError
from xkg.model import Finding, PaperBundle
from xkg.store import bundles, outbox
from xkg.store.neo4j.db.connection import Connection

WRITER = """
import sys
from pathlib import Path
from tests.neo4j_server import Neo4jServer
from tests.store.graphs import a_paper
from tests.store.neo4j.stores import forget, open_remote
store = open_remote(Neo4jServer(sys.argv[1], "", ""), Path(sys.argv[2]))
print("begins", flush=True)
for n in range(5):
    store.publish([a_paper(note=f"one {n}")])
forget(store)
store.close()
"""


@pytest.fixture
def proxy(server: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    monkeypatch.setattr("xkg.store.neo4j.db.connection._RETRY_SECONDS", 0.1)
    with proxy_to(server.url) as opened:
        yield opened


def test_two_processes_at_one_paper_end_in_one_of_the_two(server: Neo4jServer, tmp_path: Path) -> None:
    store = open_remote(server, tmp_path / "kg")
    command = [sys.executable, "-c", WRITER, server.url, str(tmp_path / "one")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "begins\n"
        for n in range(5):
            store.publish([a_paper(note=f"two {n}")])
        assert other.wait(timeout=120) == 0
    assert list(store.bundles()) in ([a_paper(note="one 4")], [a_paper(note="two 4")])
    assert store.position().counter == 10
    store.connect()
    assert store.check() == []
    store.close()


def test_writers_and_a_reader_never_see_half_a_paper(server: Neo4jServer, tmp_path: Path) -> None:
    """Two writers alternate between two versions of a large paper while a reader watches."""
    many = tuple(Finding(id=f"{a_paper().paper.id}#finding/{n}", name=f"{n}") for n in range(60))
    versions = [a_paper(note=str(v)).model_copy(update={"findings": many[: 60 // (v + 1)]}) for v in range(2)]
    writers = [open_remote(server, tmp_path / str(v)) for v in range(2)]
    reader = open_remote(server, tmp_path / "reader")
    writers[0].publish([versions[0]])
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for _ in range(6):
                writers[number].publish([versions[number]])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(v,)) for v in range(2)]
    for thread in threads:
        thread.start()
    seen: list[PaperBundle] = []
    while any(thread.is_alive() for thread in threads):
        seen += reader.bundles()
        changes = reader.changes(None)
        seen += changes.bundles
    for thread in threads:
        thread.join()
    assert not errors
    assert all(bundle in versions for bundle in seen)
    for store in (*writers, reader):
        forget(store)
        store.close()


def test_a_commit_whose_answer_was_lost_does_no_harm(server: Neo4jServer, tmp_path: Path) -> None:
    store = open_remote(server, tmp_path / "kg")
    store.publish([a_paper()])
    lost = iter([True])

    opened = store.connection._session

    class Lossy:
        def __init__(self, session: object) -> None:
            self._session = session

        def execute_write(self, work: object) -> object:
            done = self._session.execute_write(work)  # type: ignore[attr-defined]
            if next(lost, False):
                raise IncompleteCommit("cut while the commit was answered")
            return done

    @contextmanager
    def session(*given: object, **named: object) -> Iterator[object]:
        with opened(*given, **named) as real:  # type: ignore[arg-type]
            yield Lossy(real)

    store.connection._session = session  # type: ignore[method-assign,assignment]
    assert store.publish([a_paper(note="again")]) == 2, "the second time it is there already"
    store.connection._session = opened  # type: ignore[method-assign]
    assert list(store.bundles()) == [a_paper(note="again")]
    store.connect()
    assert store.check() == []
    store.close()


def test_a_paper_that_cannot_be_sent_is_queued_and_sent_later(
    proxy: Proxy, server: Neo4jServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings_for(Neo4jServer(proxy.url, server.user, server.password), tmp_path / "kg")
    for module in ("graph.open", "build"):
        monkeypatch.setattr(f"xkg.commands.{module}.embedder", _embedder)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in (1, 2):
        bundles.write(folder, a_paper(number))
    read = Connection.read
    attempts = []

    def cut_after_the_first_look(self: Connection, work: object) -> object:
        attempts.append(work)
        found = read(self, work)  # type: ignore[arg-type]
        if len(attempts) == 1:
            proxy.cut()
        return found

    monkeypatch.setattr(Connection, "read", cut_after_the_first_look)
    with pytest.raises(StoreUnreachableError, match="xkg store push"):
        import_graphs(chosen, folder, own=True)
    monkeypatch.setattr(Connection, "read", read)
    assert len(outbox.waiting(chosen.kg)) == 2
    with pytest.raises(StoreUnreachableError):
        push(chosen)
    assert len(outbox.waiting(chosen.kg)) == 2
    proxy.restore()
    result = push(chosen)
    assert set(result.sent) == {a_paper(1).paper.id, a_paper(2).paper.id}
    assert outbox.waiting(chosen.kg) == []
    store = open_remote(server, tmp_path / "other")
    assert list(store.bundles()) == [a_paper(1), a_paper(2)]
    assert store.check() == []
    store.close()
    assert push(chosen).sent == ()


def test_a_build_for_a_server_that_is_away_begins_no_work(
    proxy: Proxy, server: Neo4jServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def paid(*_: object, **__: object) -> object:
        raise AssertionError("work was begun")

    monkeypatch.setattr("xkg.build.pipeline.build_paper", paid)
    proxy.cut()
    chosen = settings_for(Neo4jServer(proxy.url, server.user, server.password), tmp_path / "kg")
    (tmp_path / "paper.md").write_text("# A paper")
    with pytest.raises(StoreUnreachableError) as caught:
        build(chosen, tmp_path / "paper.md", None)
    assert caught.value.exit_code == 1
    assert proxy.url in str(caught.value)
    assert not outbox.waiting(chosen.kg)


def test_what_is_damaged_while_it_waits_is_named_and_keeps_nothing_else(
    server: Neo4jServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("graph.open", "build"):
        monkeypatch.setattr(f"xkg.commands.{module}.embedder", _embedder)
    chosen = settings_for(server, tmp_path / "kg")
    outbox.enqueue(chosen.kg, [a_paper(1), a_paper(2)])
    outbox.enqueue(chosen.kg, [a_paper(2, note="newer")])
    damaged, readable = outbox.waiting(chosen.kg)
    damaged.write_text("{")
    result = push(chosen)
    assert result.sent == (a_paper(2).paper.id,)
    assert damaged.name in result.problems[0]
    assert outbox.waiting(chosen.kg) == [damaged]
    assert not readable.exists()


def _embedder(_: object) -> object:
    return nullcontext(FakeHashEmbedder())
