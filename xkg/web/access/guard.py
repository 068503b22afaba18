"""Admits holders of MCP tokens to the pages. A token is sent in a header or exchanged for a cookie.

The cookie is HttpOnly and SameSite=Lax, so that users stay signed in when they follow a shared link. Any request that
changes data or costs money must come from one of our own pages. `is_own` checks this using the browser's headers."""

import hashlib
import json
import secrets
import sqlite3
import time
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import quote, urlsplit

import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from xkg.config import Settings
from xkg.errors import XkgError
from xkg.serve.http.limits import RateLimit, refuse, too_often
from xkg.serve.http.oauth import Access, bearer
from xkg.serve.http.tokens import PREFIX, Tokens
from xkg.serve.jobs.authority import Caller, caller_of
from xkg.sqlite_files import opened, transaction

NEEDED = "read"
SIGN_IN = "/sign-in"
_ATTEMPTS = 60
"""Maximum number of tokens that one IP address may try per minute."""


class Guard:
    """Checks the token or session cookie of a request, and handles signing in and out."""

    def __init__(self, settings: Settings, access: Access, sessions: "Sessions") -> None:
        self._access = access
        self._sessions = sessions
        # Cookies ignore ports, so graphs served on the same machine need different cookie names.
        self.cookie = f"xkg-{hashlib.sha256(str(settings.kg.absolute()).encode()).hexdigest()[:8]}"
        self._secure = (settings.serve.http.url or "").startswith("https:")

    def required(self) -> bool:
        return self._access.required()

    def is_cheap(self, request: Request) -> bool:
        """Returns whether a request's credentials can be checked without a rate limit."""
        token = bearer(request.scope)
        return self._access.is_cheap(token) if token else self.cookie in request.cookies

    async def caller(self, request: Request) -> AccessToken | None:
        """Returns the caller, or None if the caller may not see pages."""
        if token := bearer(request.scope):
            found = await self._access.verify_token(token)
        elif secret := request.cookies.get(self.cookie):
            try:
                found = await anyio.to_thread.run_sync(self._sessions.find, secret)
            except XkgError:
                found = None
        else:
            found = None
        return found if found is not None and NEEDED in found.scopes and self._access.reads(found) else None

    async def sign_in(self, token: str, after: str) -> Response | None:
        """Returns the response that sets the cookie, or None if the token is invalid. Raises `StoreError` if sessions
        cannot be stored."""
        access = await self._access.verify_token(token)
        if access is None or NEEDED not in access.scopes:
            return None
        secret, seconds = await anyio.to_thread.run_sync(self._sessions.begin, token, access)
        response = RedirectResponse(own_path(after), 303)
        response.set_cookie(
            self.cookie, secret, max_age=seconds, path="/", secure=self._secure, httponly=True, samesite="lax"
        )
        return response

    async def sign_out(self, request: Request) -> Response:
        if secret := request.cookies.get(self.cookie):
            await anyio.to_thread.run_sync(self._sessions.end, secret)
        response = RedirectResponse(SIGN_IN, 303)
        response.delete_cookie(self.cookie, path="/", secure=self._secure, httponly=True, samesite="lax")
        return response


def guarded_pages(app: ASGIApp, guard: Guard, per_minute: int) -> ASGIApp:
    """Protects an app with the guard and a per-caller rate limit. Browsers without a token are redirected to the
    sign-in page."""

    async def known(scope: Scope, receive: Receive, send: Send) -> None:
        if guard.required() and "user" not in scope:
            await _turned_away(Request(scope))(scope, receive, send)
        else:
            await app(scope, receive, send)

    limited = RateLimit(known, per_minute)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if guard.required():
            request = Request(scope)
            if (wait := limited.wait(scope)) and not guard.is_cheap(request):
                await too_often(scope, receive, send, wait)
                return
            if (found := await guard.caller(request)) is not None:
                scope["user"] = AuthenticatedUser(found)
        await limited(scope, receive, send)

    return guarded


def own_posts_only(app: ASGIApp) -> ASGIApp:
    """Rejects POST requests that do not come from this server's own pages (cross-site request forgery), and limits each
    IP address's request rate."""
    limited = RateLimit(app, _ATTEMPTS)

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST" and not is_own(Request(scope)):
            words = "forms from other sites are not accepted; use the form on this site"
            await refuse(scope, receive, send, 403, "origin", words)
        else:
            await limited(scope, receive, send)

    return checked


def page_caller(request: Request) -> Caller:
    """Returns the caller for a request behind `guarded_pages`, identified by token or session."""
    user = request.scope.get("user")
    return caller_of(user.access_token if isinstance(user, AuthenticatedUser) else None)


def is_own(request: Request) -> bool:
    """Returns whether the request comes from one of this server's own pages, according to the browser."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin") or (request.headers.get("referer") if request.method == "GET" else None)
    return origin is not None and urlsplit(origin).netloc == request.headers.get("host", "")


def own_path(path: str) -> str:
    """Returns the path if it is on this server, otherwise `/`. Users who sign in can therefore not be redirected to
    other sites."""
    plain = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() and "\\" not in path
    return path if plain else "/"


def _turned_away(request: Request) -> Response:
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{SIGN_IN}?next={quote(wanted, safe='')}", 303)
    return Response(
        "sign in, or send a token (see xkg token create) in the header Authorization: Bearer …\n",
        401,
        {"www-authenticate": "Bearer"},
    )


LONGEST_SECONDS = 30 * 24 * 3600
"""Maximum duration of a session. A session also ends when its token expires."""

_SCHEMA = {
    "sessions": """CREATE TABLE IF NOT EXISTS sessions (
        digest BLOB PRIMARY KEY, client TEXT NOT NULL, scopes TEXT NOT NULL, token TEXT NOT NULL, expires REAL NOT NULL
        )""",
}


class Sessions:
    """Stores the sessions for the graph in `folder`. All processes that serve the graph share its sessions.

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
