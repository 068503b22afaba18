"""A graph on a real Neo4j, empty at the start of each test."""

from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.neo4j.loading import Graph
from tests.store.neo4j.stores import forget, open_remote
from xkg.config import StoreSettings
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import migrate
from xkg.store.neo4j.store import Neo4jStore


@pytest.fixture
def graph(neo4j_database: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_database.user)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_database.password)
    connection = Connection(StoreSettings(url=neo4j_database.url))
    migrate(connection)
    yield Graph(connection)
    connection.close()


@pytest.fixture
def server(neo4j_server: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> Neo4jServer:
    """A server without nodes, with user and password in the environment. The schema of an earlier test stays, and with
    it the plans of statements, which take seconds to make anew."""
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_server.user)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    with neo4j.GraphDatabase.driver(neo4j_server.url, auth=neo4j_server.auth) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n", database_="neo4j")
    return neo4j_server


@pytest.fixture
def store(server: Neo4jServer, tmp_path: Path) -> Iterator[Neo4jStore]:
    opened = open_remote(server, tmp_path / "kg")
    yield opened
    forget(opened)
    opened.close()
