import multiprocessing
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.store.graphs import FakeHashEmbedder, a_paper, open_store
from xkg.errors import StoreBusyError
from xkg.files import writing
from xkg.store.local.store import EmbeddedStore

SPAWN = multiprocessing.get_context("spawn")


def reader(folder: Path, pipe: Connection) -> None:
    """Answers each command with the generation and the titles of the papers. Opens a snapshot on "hold" and closes it
    on "let go"."""
    store = open_store(folder)
    held = None
    while (command := pipe.recv()) != "end":
        if command == "hold":
            held = store.snapshot()
            snapshot = held.__enter__()
        if command == "let go" and held is not None:
            held.__exit__(None, None, None)
            held = None
        if held is None:
            with store.snapshot() as now:
                pipe.send((now.generation, [p.title for p in now.papers()]))
        else:
            snapshot.find_text("layer normalisation", 3)
            snapshot.find_vector(FakeHashEmbedder().embed(["x"])[0], 3)
            pipe.send((snapshot.generation, [snapshot.bundle(p.id).paper.title for p in snapshot.papers()]))


def test_a_reader_elsewhere_moves_on_between_calls_and_keeps_what_it_holds(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.publish([a_paper(1)])
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=reader, args=(tmp_path, there))
    process.start()

    def ask(what: str) -> tuple[int, list[str]]:
        here.send(what)
        answer: tuple[int, list[str]] = here.recv()
        return answer

    try:
        assert ask("now") == (1, ["Paper 1"])
        store.publish([a_paper(2)])
        assert ask("hold") == (2, ["Paper 1", "Paper 2"])
        store.remove(["arxiv:2101.00001"])
        for n in range(3, 6):
            store.publish([a_paper(n)])
        assert ask("still") == (2, ["Paper 1", "Paper 2"]), "what is held is neither changed nor cleaned up"
        assert sorted(p.name for p in (tmp_path / "generations").iterdir()) == ["2", "4", "5", "6"]
        assert ask("let go") == (6, ["Paper 2", "Paper 3", "Paper 4", "Paper 5"])
        store.publish([a_paper(6)])
        assert sorted(p.name for p in (tmp_path / "generations").iterdir()) == ["5", "6", "7"]
        assert ask("now")[0] == 7
    finally:
        here.send("end")
        process.join()


def test_a_second_writer_waits_and_then_says_who_is_writing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.publish([a_paper(1)])
    impatient = open_store(tmp_path, wait=0.05)
    with writing(tmp_path, 0):
        for write in (lambda: impatient.publish([a_paper(2)]), impatient.rollback, impatient.rebuild):
            with pytest.raises(StoreBusyError, match=r"pid \d+"):
                write()
        assert [p.title for p in snapshot_papers(impatient)] == ["Paper 1"], "reading does not wait"
    assert impatient.publish([a_paper(2)]) == 2


def snapshot_papers(store: EmbeddedStore) -> "list[object]":
    with store.snapshot() as snapshot:
        return list(snapshot.papers())


def test_writers_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    stores = [open_store(tmp_path) for _ in range(4)]
    threads = [threading.Thread(target=s.publish, args=([a_paper(n)],)) for n, s in enumerate(stores, start=1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(stores[0].bundles()) == [a_paper(n) for n in range(1, 5)]
    assert stores[0].check() == []
