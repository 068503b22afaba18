"""A real Neo4j for tests, started by scripts/neo4j-dev: one for each worker, as Community has one database."""

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
    """Where the server answers, and who may ask it."""

    url: str
    user: str
    password: str = field(repr=False)

    @property
    def auth(self) -> tuple[str, str]:
        """User and password as the driver takes them."""
        return self.user, self.password


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    """The server, with whatever the last test left in it. It ends with this process, however that ends."""
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
            process.kill()  # nothing in the folder is wanted again, so nobody waits for a shutdown in order


@pytest.fixture
def neo4j_database(neo4j_server: Neo4jServer) -> Neo4jServer:
    """The server with its one database as new: no nodes, constraints, indexes, nor transactions of earlier tests."""
    with neo4j.GraphDatabase.driver(neo4j_server.url, auth=neo4j_server.auth) as driver:
        empty(driver)
    return neo4j_server


def empty(driver: neo4j.Driver) -> None:
    """Brings the database back to what a new one is."""
    with driver.session(database="neo4j") as session:
        # A lock that an earlier test's transaction holds would keep everything below waiting.
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
