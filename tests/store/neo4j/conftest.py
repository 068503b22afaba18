"""A graph on a real Neo4j, empty at the start of each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.neo4j.loading import Graph
from tests.store.neo4j.stores import forget, open_remote
from xkg.config import StoreSettings
from xkg.store.neo4j.db.connection import Connection
from xkg.store.neo4j.db.migrations import migrate
from xkg.store.neo4j.store import Neo4jStore


@pytest.fixture
def graph(server: Neo4jServer) -> Iterator[Graph]:
    connection = Connection(StoreSettings(url=server.url))
    migrate(connection)
    yield Graph(connection)
    connection.close()


@pytest.fixture
def store(server: Neo4jServer, tmp_path: Path) -> Iterator[Neo4jStore]:
    opened = open_remote(server, tmp_path / "kg")
    yield opened
    forget(opened)
    opened.close()
