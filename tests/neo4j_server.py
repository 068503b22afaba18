"""Starts a real Neo4j for tests with scripts/neo4j-dev. Each test worker starts a separate server, because the
Community edition supports only one database."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import neo4j
import pytest

COMMAND = Path(__file__).parents[1] / "scripts" / "neo4j-dev"


@dataclass(frozen=True)
class Neo4jServer:
    url: str
    user: str
    password: str = field(repr=False)

    @property
    def auth(self) -> tuple[str, str]:
        return self.user, self.password


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """Yields the server, which may contain data from the last test. The server ends with this process, even after a
    crash."""
    folder = tmp_path_factory.mktemp("neo4j")
    command = [sys.executable, COMMAND, "run", "--folder", folder]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                pytest.fail(process.stderr.read().strip(), pytrace=False)
            yield Neo4jServer(url, "neo4j", (folder / "password").read_text())
        finally:
            process.kill()  # the folder is no longer needed, so an orderly shutdown is unnecessary


@pytest.fixture
def neo4j_database(neo4j_server: Neo4jServer) -> Neo4jServer:
    """Yields the server with an empty database, without nodes, constraints, indexes or transactions of earlier
    tests."""
    with neo4j.GraphDatabase.driver(neo4j_server.url, auth=neo4j_server.auth) as driver:
        empty(driver)
    return neo4j_server


def empty(driver: neo4j.Driver) -> None:
    """Resets the database to the state of a new one."""
    with driver.session(database="neo4j") as session:
        # A lock held by an earlier test's transaction would block everything below.
        running = session.run("SHOW TRANSACTIONS YIELD transactionId, currentQuery").data()
        if others := [row["transactionId"] for row in running if "SHOW TRANSACTIONS" not in row["currentQuery"]]:
            session.run("TERMINATE TRANSACTIONS $others", others=others).consume()
        constraints = session.run("SHOW CONSTRAINTS YIELD name").value()
        free = "type <> 'LOOKUP' AND owningConstraint IS NULL"
        indexes = session.run(f"SHOW INDEXES YIELD name, type, owningConstraint WHERE {free} RETURN name").value()
        with session.begin_transaction() as transaction:
            for name in constraints:
                transaction.run("DROP CONSTRAINT $name", name=name).consume()
            for name in indexes:
                transaction.run("DROP INDEX $name", name=name).consume()
            transaction.commit()
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 10000 ROWS").consume()
