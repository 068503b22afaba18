"""A real Neo4j without nodes."""

import neo4j
import pytest

from tests.neo4j_server import Neo4jServer


@pytest.fixture
def server(neo4j_server: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> Neo4jServer:
    """With user and password in the environment. The schema of an earlier test stays, and with it the plans of
    statements, which take seconds to make anew."""
    monkeypatch.setenv("NEO4J_USERNAME", neo4j_server.user)
    monkeypatch.setenv("NEO4J_PASSWORD", neo4j_server.password)
    with neo4j.GraphDatabase.driver(neo4j_server.url, auth=neo4j_server.auth) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n", database_="neo4j")
    return neo4j_server
