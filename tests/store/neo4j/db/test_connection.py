"""Checks that an unusable server gives a one-line message with a remedy, and that no message contains the password."""

import socket
import traceback
from contextlib import closing
from pathlib import Path

import pytest

from tests.neo4j_server import Neo4jServer
from xkg.config import StoreSettings
from xkg.errors import StoreError, StoreUnreachableError
from xkg.store.neo4j.db.connection import Connection, credentials
from xkg.store.neo4j.db.error_messages import explained

SECRET = "s3cret-Pa55word"


@pytest.fixture
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEO4J_USERNAME", raising=False)
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_USERNAME", "ada")
    monkeypatch.setenv("NEO4J_PASSWORD", SECRET)


def refusal(settings: StoreSettings) -> str:
    """Returns the error message from a failed attempt to open the graph. Checks that neither the message nor the
    traceback contains the password."""
    with closing(Connection(settings)) as connection, pytest.raises(StoreError) as caught:
        connection.read(lambda transaction: transaction.run("RETURN 1").consume())
    message = str(caught.value)
    assert "\n" not in message
    assert SECRET not in message + "".join(traceback.format_exception(caught.value)) + repr(connection.__dict__)
    return message


@pytest.mark.usefixtures("no_environment")
def test_credentials_are_read_as_aura_hands_them_out(tmp_path: Path) -> None:
    file = tmp_path / "aura.txt"
    file.write_text(f"# Wait 60 seconds\r\nNEO4J_URI=neo4j+s://x\r\nNEO4J_USERNAME=ada\r\nNEO4J_PASSWORD={SECRET}\r\n")
    known = credentials(StoreSettings(url="bolt://localhost", credentials=file))
    assert (known.principal, known.credentials) == ("ada", SECRET)
    assert SECRET not in repr(known)
    file.write_text(f'export NEO4J_PASSWORD = "{SECRET}=#"\n')
    assert credentials(StoreSettings(url="bolt://localhost", credentials=file)).credentials == f"{SECRET}=#"


@pytest.mark.usefixtures("no_environment")
@pytest.mark.parametrize("content", [None, b"", b"NEO4J_PASSWORD=\n", b"# NEO4J_PASSWORD=x\n", b"\xff\xfe\x00"])
def test_a_file_without_a_password_says_both_ways(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "credentials.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StoreUnreachableError, match=r"NEO4J_PASSWORD.*store\.credentials") as caught:
        credentials(StoreSettings(url="bolt://localhost", credentials=file))
    assert str(file) in str(caught.value)


@pytest.mark.usefixtures("secret")
@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_a_server_that_is_down_is_named_with_what_to_do(scheme: str) -> None:
    with socket.socket() as closed:  # keep the port bound, so that no other server gets it
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        message = refusal(StoreSettings(url=f"{scheme}://127.0.0.1:{port}"))
    assert f"{scheme}://127.0.0.1:{port}" in message
    assert "refused" in message
    assert "xkg doctor" in message


def test_missing_encryption_is_named_in_the_error(server: Neo4jServer) -> None:
    for scheme in ("bolt+s", "neo4j+ssc"):
        url = server.url.replace("bolt", scheme)
        assert "encrypted" in refusal(StoreSettings(url=url))


def test_a_wrong_password_and_a_wrong_database_have_different_errors(
    server: Neo4jServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "store.database" in (message := refusal(StoreSettings(url=server.url, database="nosuch")))
    assert "'nosuch'" in message
    monkeypatch.setenv("NEO4J_PASSWORD", SECRET)
    for scheme in ("bolt", "neo4j"):
        message = refusal(StoreSettings(url=server.url.replace("bolt", scheme)))
        assert "'neo4j'" in message
        assert "store.credentials" in message


@pytest.mark.parametrize(("agent", "expected"), [("Neo4j/5.25.1", "5.26 or later"), ("Other/1.0", "Other/1.0")])
def test_a_server_that_is_too_old_is_named_with_its_version(
    server: Neo4jServer, monkeypatch: pytest.MonkeyPatch, agent: str, expected: str
) -> None:
    from xkg.store.neo4j.db import connection

    opened = connection._opened
    monkeypatch.setattr(connection, "_opened", lambda *given: (opened(*given)[0], agent))
    assert expected in refusal(StoreSettings(url=server.url))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("Neo.ClientError.Security.Forbidden", "with write access"),
        ("Neo.ClientError.Cluster.NotALeader", "neo4j://"),
        ("Neo.TransientError.General.DatabaseUnavailable", "start it"),
        ("Neo.TransientError.Transaction.DeadlockDetected", "try again"),
        ("Neo.ClientError.Security.CredentialsExpired", "store.credentials"),
        ("Neo.DatabaseError.General.UnknownError", "xkg doctor"),
    ],
)
def test_what_a_server_refuses_says_what_to_do(code: str, expected: str) -> None:
    from neo4j.exceptions import Neo4jError

    error = Neo4jError._hydrate_neo4j(code=code, message="a line\nand another")
    line = str(explained(error, "bolt://there", "neo4j", "ada"))
    assert expected in line
    assert "there" in line
    assert "\n" not in line
