"""A graph gets its schema once, whoever is interrupted, and another schema is refused."""

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
from xkg.store.cypher import named_queries
from xkg.store.neo4j.db import migrations
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import migrate, migrate_graph, prepare, read_state

NEWEST = migrations.migrations()[-1].number


pytestmark = pytest.mark.usefixtures("connection")


@pytest.fixture
def connection(neo4j_database: Neo4jServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Connection]:
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_database.user)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_database.password)
    with closing(Connection(settings_for(neo4j_database, tmp_path).store)) as opened:
        yield opened


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The migrations of a later xkg."""
    folder = tmp_path / "later"
    folder.mkdir()
    for path in (named_queries.folder() / "schema" / "neo4j").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / f"{NEWEST + 1:03}-later.cypher").write_text(
        "CREATE INDEX xkg_later IF NOT EXISTS FOR (n:Paper) ON (n.x);\n"
    )
    return folder


def schema(connection: Connection) -> set[str]:
    return set(
        connection.read(lambda tx: tx.run("SHOW INDEXES YIELD name, state WHERE state = 'ONLINE'").value("name"))
    )


def test_an_empty_database_gets_its_schema_once_from_the_first_writes(connection: Connection, later: Path) -> None:
    assert connection.read(read_state).graph == ""
    states = []
    threads = [threading.Thread(target=lambda: states.append(prepare(connection))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = prepare(connection)
    assert state.graph
    assert (state.schema, state.generation) == (NEWEST, 0)
    assert states == [state, state]
    assert connection.read(lambda tx: tx.run("MATCH (m:XkgMeta) RETURN count(m)").value()) == [1]
    assert {"xkg_paper", "xkg_code_level", "xkg_symbol_path"} <= schema(connection)
    assert migrate(connection) == []
    # a migration that was killed before it was recorded is run again
    connection.write(lambda tx: tx.run(migrations.migrations(later)[-1].statements[0]).consume())
    assert migrate(connection, later) == [f"{NEWEST + 1:03}-later"]
    assert connection.read(read_state).schema == NEWEST + 1
    for refused in (lambda: prepare(connection), lambda: migrate(connection)):
        with pytest.raises(SchemaVersionError, match="upgrade xkg"):
            refused()


def test_an_older_graph_is_refused_with_the_command_and_migrated_by_it(
    connection: Connection,
    later: Path,
    neo4j_database: Neo4jServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = open_remote(neo4j_database, tmp_path / "kg")
    store.publish([a_paper()])
    with pytest.raises(SchemaVersionError, match="xkg store migrate"):
        prepare(connection, later)
    known = migrations.migrations(later)
    monkeypatch.setattr(migrations, "migrations", lambda _=None: known)
    for refused in (lambda: list(store.changes(None).bundles), lambda: store.publish([a_paper(2)]), store.position):
        with pytest.raises(SchemaVersionError, match="xkg store migrate"):
            refused()
    assert migrate_graph(settings_for(neo4j_database, tmp_path / "kg")) == [f"{NEWEST + 1:03}-later"]
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
