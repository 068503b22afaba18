"""Provides a real Neo4j without nodes."""

import neo4j
import pytest

from tests.neo4j_server import Neo4jServer


@pytest.fixture
def server(neo4j_server: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> Neo4jServer:
    """Yields a server whose user and password are in the environment. The schema of earlier tests stays, because
    planning its statements again would take seconds."""
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_server.user)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    with neo4j.GraphDatabase.driver(neo4j_server.url, auth=neo4j_server.auth) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n", database_="neo4j")
    return neo4j_server
