"""Tests leases on papers with two real processes and one real Neo4j."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.graphs import a_paper
from tests.store.neo4j.stores import open_remote
from xkg.errors import LeaseHeldError
from xkg.store.neo4j import leases

PAPER = a_paper().paper.id

# The process takes the lease, reports it, and publishes on request.
BUILDER = """
import json, sys
from pathlib import Path
from tests.neo4j_server import Neo4jServer
from tests.store.graphs import FakeHashEmbedder, a_paper
from xkg.config import Settings, StoreSettings
from xkg.errors import XkgError
from xkg.store.neo4j import leases
from xkg.store.neo4j.store import Neo4jStore
from tests.store.neo4j.stores import MODEL

url, folder, seconds, note = sys.argv[1:]
leases.SECONDS = float(seconds)
bundle = a_paper(1, note=note)
store = Neo4jStore(Settings(kg=Path(folder), store=StoreSettings(url=url), embedding=MODEL), FakeHashEmbedder)
try:
    with store.lease(bundle.paper.id, note) as fence:
        print(json.dumps(fence), flush=True)
        sys.stdin.readline()
        store.publish([bundle], {bundle.paper.id: fence})
        print(json.dumps("published"), flush=True)
except XkgError as error:
    print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
"""


@contextmanager
def builder(server: Neo4jServer, folder: Path, seconds: float, note: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", BUILDER, server.url, str(folder), str(seconds), note]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(stream: IO[str] | None) -> object:
    assert stream is not None
    return json.loads(stream.readline())


def go_on(process: "subprocess.Popen[str]") -> object:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return said(process.stdout)


def test_two_processes_never_hold_one_paper_at_once(server: Neo4jServer, tmp_path: Path) -> None:
    store = open_remote(server, tmp_path / "b")
    with builder(server, tmp_path / "a", 60, "first") as first:
        assert said(first.stdout) == 1
        with pytest.raises(LeaseHeldError, match="first"), store.lease(PAPER, "second"):
            pass
        assert go_on(first) == "published"
        assert first.wait(60) == 0
    with store.lease(PAPER, "second") as fence:
        assert fence == 2, "what was released is free at once"
    store.close()


def test_a_builder_that_slept_through_its_lease_publishes_nothing(server: Neo4jServer, tmp_path: Path) -> None:
    with builder(server, tmp_path / "a", 0.3, "sleeper") as sleeper:
        assert said(sleeper.stdout) == 1
        os.kill(sleeper.pid, signal.SIGSTOP)
        store = open_remote(server, tmp_path / "b")
        fence = 0
        while not fence:
            try:
                with leases.held(store.connection, PAPER, "awake") as fence:
                    newer = a_paper(1, note="awake")
                    store.publish([newer], {PAPER: fence})
                    os.kill(sleeper.pid, signal.SIGCONT)
                    assert str(go_on(sleeper)).startswith("LeaseLostError")
            except LeaseHeldError:
                fence = 0
        assert list(store.bundles()) == [newer]
        store.close()


def test_a_lease_is_renewed_while_its_builder_lives(server: Neo4jServer, tmp_path: Path) -> None:
    store = open_remote(server, tmp_path / "a")
    store.require_writable()
    expires = "MATCH (l:XkgLease) RETURN l.expires"
    with leases.held(store.connection, PAPER, "me", 3.0):  # the lease is renewed after a second
        first = store.connection.read(lambda transaction: transaction.run(expires).value())
        while store.connection.read(lambda transaction: transaction.run(expires).value()) == first:
            pass
        with pytest.raises(LeaseHeldError, match="me"), leases.held(store.connection, PAPER, "other", 3.0):
            pass
    store.close()
