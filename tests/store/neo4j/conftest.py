"""Provides a graph on a real Neo4j, empty at the start of each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neo4j_server import Neo4jServer
from tests.store.neo4j.stores import forget, open_remote
from xkg.store.neo4j.store import Neo4jStore


@pytest.fixture
def store(server: Neo4jServer, tmp_path: Path) -> Iterator[Neo4jStore]:
    opened = open_remote(server, tmp_path / "kg")
    yield opened
    forget(opened)
    opened.close()
