"""Browser sessions. A token is exchanged for a random id, which is stored in a cookie. The server stores only a hash of
the id."""

import hashlib
import json
import secrets
import sqlite3
import time
from contextlib import AbstractContextManager
from pathlib import Path

from mcp.server.auth.provider import AccessToken

from xkg.serve.http.tokens import PREFIX, Tokens
from xkg.sqlite_files import opened, transaction

LONGEST_SECONDS = 30 * 24 * 3600
"""Maximum duration of a session. A session also ends when its token expires."""

_SCHEMA = {
    "sessions": """CREATE TABLE IF NOT EXISTS sessions (
        digest BLOB PRIMARY KEY, client TEXT NOT NULL, scopes TEXT NOT NULL, token TEXT NOT NULL, expires REAL NOT NULL
        )""",
}


class Sessions:
    """The sessions for the graph in `folder`, shared by all processes that serve it.

    Every method raises `StoreError` if the file cannot be used, so that no one is granted access by mistake.
    Thread-safe."""

    def __init__(self, folder: Path, tokens: Tokens) -> None:
        self._path = folder / "sessions.sqlite"
        self._tokens = tokens

    def begin(self, token: str, access: AccessToken) -> tuple[str, int]:
        """Starts a session for the holder of a valid token. Returns the session's secret and its lifetime in
        seconds."""
        now = time.time()
        expires = now + LONGEST_SECONDS
        if (ends := (access.claims or {}).get("exp")) is not None:
            expires = min(expires, float(ends))
        own = self._tokens.find(token) if token.startswith(PREFIX) else None
        if own is not None and own.expires is not None:
            expires = min(expires, own.expires.timestamp())
        secret = secrets.token_urlsafe(32)
        values = (_digest(secret), access.client_id, json.dumps(access.scopes), own.sha256 if own else "", expires)
        with self._database() as db, transaction(db):
            db.execute("DELETE FROM sessions WHERE expires <= ?", (now,))
            db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?)", values)
        return secret, max(0, int(expires - now))

    def find(self, secret: str) -> AccessToken | None:
        """Returns the session's holder, or None if the session has ended or its token has been revoked."""
        if not self._path.exists():
            return None
        with self._database() as db:
            row = db.execute(
                "SELECT client, scopes, token FROM sessions WHERE digest = ? AND expires > ?",
                (_digest(secret), time.time()),
            ).fetchone()
        if row is None:
            return None
        client, scopes, token = row
        if token and not any(token == known.sha256 for known in self._tokens.valid()):
            return None
        return AccessToken(token="", client_id=client, scopes=json.loads(scopes))

    def end(self, secret: str) -> None:
        if self._path.exists():
            with self._database() as db, transaction(db):
                db.execute("DELETE FROM sessions WHERE digest = ?", (_digest(secret),))

    def _database(self) -> AbstractContextManager[sqlite3.Connection]:
        return opened(self._path, _SCHEMA, "remove it, and sign in again")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
