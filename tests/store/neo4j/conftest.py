"""A graph on a real Neo4j, empty at the start of each test."""

from collections.abc import Iterator

import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.neo4j.loading import Graph
from xkg.config import StoreSettings
from xkg.store.neo4j.connection import Connection
from xkg.store.neo4j.migrations import migrate


@pytest.fixture
def graph(neo4j_database: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_database.user)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_database.password)
    connection = Connection(StoreSettings(url=neo4j_database.url))
    migrate(connection)
    yield Graph(connection)
    connection.close()
