"""Checks the Neo4j server on which the tests of the shared store run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import neo4j
import pytest

from tests.neo4j_server import Neo4jServer


@pytest.fixture
def driver(neo4j_database: Neo4jServer) -> Iterator[neo4j.Driver]:
    with neo4j.GraphDatabase.driver(neo4j_database.url, auth=neo4j_database.auth) as opened:
        yield opened


def rows(driver: neo4j.Driver, query: str, **parameters: Any) -> list[dict[str, Any]]:
    return [record.data() for record in driver.execute_query(query, parameters, database_="neo4j").records]


def test_apoc_is_installed_and_the_server_dangerous(driver: neo4j.Driver, tmp_path: Path) -> None:
    """Attacks on the read-only guard prove something only if they would succeed without it."""
    assert rows(driver, "RETURN apoc.version() AS version")[0]["version"].startswith("5.26.")
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"key": "s3cret"}))
    assert rows(driver, "CALL apoc.load.json($url) YIELD value", url=secret.as_uri()) == [{"value": {"key": "s3cret"}}]
    assert rows(driver, "LOAD CSV FROM $url AS line RETURN line", url=secret.as_uri())
    written = tmp_path / "written.csv"
    rows(driver, "CALL apoc.export.csv.query('RETURN 1 AS a', $path, {})", path=str(written))
    assert written.read_text().splitlines() == ['"a"', '"1"']
    rows(driver, "CALL apoc.cypher.runWrite('CREATE (:Planted)', {})")
    assert rows(driver, "MATCH (n:Planted) RETURN count(n) AS n") == [{"n": 1}]
