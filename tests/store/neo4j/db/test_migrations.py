"""Checks that a graph gets its schema exactly once despite interruptions, and that other schemas are refused."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.graphs import a_paper
from tests.store.neo4j.stores import forget, open_remote, settings_for
from xkg.config import Settings
from xkg.errors import ConfigError, SchemaVersionError, StoreError
from xkg.store.neo4j.db import migrations
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import migrate, migrate_graph, prepare, read_state

pytestmark = pytest.mark.usefixtures("connection")


@pytest.fixture
def connection(neo4j_database: Neo4jServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Connection]:
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_database.user)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_database.password)
    with closing(Connection(settings_for(neo4j_database, tmp_path).store)) as opened:
        yield opened


def schema(connection: Connection) -> set[str]:
    return set(
        connection.read(lambda tx: tx.run("SHOW INDEXES YIELD name, state WHERE state = 'ONLINE'").value("name"))
    )


def test_an_empty_database_gets_its_schema_once_from_the_first_writes(connection: Connection) -> None:
    assert connection.read(read_state).graph == ""
    states = []
    threads = [threading.Thread(target=lambda: states.append(prepare(connection))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = prepare(connection)
    assert state.graph
    assert (state.schema, state.generation) == (migrations.SCHEMA, 0)
    assert states == [state, state]
    assert connection.read(lambda tx: tx.run("MATCH (m:XkgMeta) RETURN count(m)").value()) == [1]
    assert {"xkg_paper", "xkg_code_level", "xkg_symbol_path"} <= schema(connection)
    assert migrate(connection) == []


def test_a_graph_with_another_schema_is_refused_with_a_remedy(neo4j_database: Neo4jServer, tmp_path: Path) -> None:
    store = open_remote(neo4j_database, tmp_path / "kg")
    store.publish([a_paper()])

    def set_schema(number: int) -> None:
        store.connection.write(lambda tx: tx.run("MATCH (m:XkgMeta) SET m.schema = $n", n=number).consume())

    for number, remedy in ((migrations.SCHEMA + 1, "upgrade xkg"), (migrations.SCHEMA - 1, "xkg store migrate")):
        set_schema(number)
        for refused in (lambda: list(store.changes(None).bundles), lambda: store.publish([a_paper(2)]), store.position):
            with pytest.raises(SchemaVersionError, match=remedy):
                refused()
    # The migration was killed before it was recorded.
    assert len(migrate_graph(settings_for(neo4j_database, tmp_path / "kg"))) == 1
    assert list(store.bundles()) == [a_paper()]
    store.publish([a_paper(2)])
    forget(store)
    store.close()


def test_what_is_somebody_elses_is_left_alone(connection: Connection) -> None:
    connection.write(lambda tx: tx.run("CREATE (:Paper {name: 'theirs'})").consume())
    with pytest.raises(StoreError, match=r"store\.database"):
        prepare(connection)
    assert connection.read(lambda tx: tx.run("MATCH (n) RETURN count(n)").value()) == [1]


def test_a_graph_in_a_folder_needs_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        migrate_graph(Settings(kg=tmp_path))
