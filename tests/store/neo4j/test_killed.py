"""Kills a writer before and after each of its statements. A commit must be complete or absent, and writing must still
be possible."""

import itertools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import neo4j
import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.graphs import a_paper
from tests.store.neo4j.stores import open_remote
from xkg.model import PaperBundle
from xkg.store.neo4j.store import Neo4jStore

# Python 3.12 and later warn about forks in a process with threads. The children do not touch the threads' data.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")

FIRST, SECOND, ADDED = a_paper(1), a_paper(2), a_paper(3)
CHANGED = a_paper(1, note="changed")
WRITES: dict[str, tuple[Callable[[Neo4jStore], object], list[PaperBundle]]] = {
    "publish": (lambda store: store.publish([CHANGED, ADDED]), [CHANGED, SECOND, ADDED]),
    "remove": (lambda store: store.remove([SECOND.paper.id]), [FIRST]),
    "rebuild": (lambda store: store.rebuild(), [FIRST, SECOND]),
}


def killed_at(event: int, write: Callable[[Neo4jStore], object], server: Neo4jServer, folder: Path) -> bool:
    """Writes in a child process that kills itself at this event. Returns False if the process ended first."""
    child = os.fork()
    if child == 0:
        run, left = neo4j.ManagedTransaction.run, event

        def one_event() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def counted(transaction: neo4j.ManagedTransaction, *given: Any, **named: Any) -> neo4j.Result:
            one_event()
            answer = run(transaction, *given, **named)
            one_event()
            return answer

        neo4j.ManagedTransaction.run = counted  # type: ignore[assignment]
        try:
            store = open_remote(server, folder)
            write(store)
            store.close()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.product("each write × each event", "name")
@pytest.mark.parametrize(
    ("first", "every"),
    [(25, 25), pytest.param(2, 5, marks=pytest.mark.product("every fifth event"))],
)
@pytest.mark.parametrize("name", WRITES)
def test_a_killed_writer_leaves_all_or_nothing(
    server: Neo4jServer, tmp_path: Path, name: str, first: int, every: int
) -> None:
    write, after = WRITES[name]
    kills = 0
    for event in itertools.count(first, every):
        store = open_remote(server, tmp_path / "kg")
        store.publish([FIRST, SECOND])
        extra = [b.paper.id for b in store.bundles() if b.paper.id not in (FIRST.paper.id, SECOND.paper.id)]
        if extra:
            store.remove(extra)
        store.close()
        if not killed_at(event, write, server, tmp_path / "kg"):
            break
        kills += 1
        survivor, reader = open_remote(server, tmp_path / "kg"), open_remote(server, tmp_path / "reader")
        found = list(survivor.bundles())
        assert found in ([FIRST, SECOND], after), "all of a commit or nothing"
        with reader.snapshot() as snapshot:
            assert [snapshot.bundle(b.paper.id) for b in found] == found
        if name != "remove" or found != after:
            write(survivor)
        survivor.connect()
        assert list(survivor.bundles()) == after
        assert survivor.check() == []
        survivor.close()
        reader.close()
    assert kills
