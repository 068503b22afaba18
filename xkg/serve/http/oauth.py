"""Checks access tokens from an OAuth 2.1 authorization server, following RFC 9068 and RFC 8725. A token must be a JWT
of type `at+jwt` that is signed with one of the issuer's published keys and issued for this server. Tokens that are
expired or bound to a client's key are rejected.

PyJWT checks the signature, `crit` and the registered claims. Token types and claim types are checked here, because none
of PyJWT, joserfc and authlib rejects every invalid type.

Anyone can send a token, so handling a forged token must not cost more than checking its signature. Keys are therefore
fetched in the background, infrequently and one fetch at a time. Tokens with a known key never wait for a fetch."""

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt
from cachetools import LRUCache
from mcp.server.auth.provider import AccessToken
from starlette.types import Scope

from xkg.config import OAuthSettings
from xkg.errors import ConfigError, XkgError
from xkg.serve.graphs import GRAPH_SCOPE, may_read
from xkg.serve.http.tokens import PREFIX, Tokens

log = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Only asymmetric algorithms are accepted. With a shared secret, anyone who can check tokens could also issue them."""

METADATA = ("oauth-authorization-server", "openid-configuration")
LEEWAY_SECONDS = 30
FETCH_SECONDS = 5.0
"""Timeout for fetching the keys, including the metadata that contains their URL."""

FRESH_SECONDS = 300.0
VALID_SECONDS = 3600.0
"""Keys are refetched after `FRESH_SECONDS`. If that fails, the old keys remain valid until `VALID_SECONDS`."""

PAUSE_SECONDS = 30.0
"""Minimum time between fetches, so that tokens with unknown keys cannot trigger many fetches."""

LAST_MOMENT = 253_402_300_799
"""The end of the year 9999, in seconds since 1970."""

LONGEST = 16_384
LARGEST_ANSWER = 262_144
MOST_CACHED_TOKENS = 10_000

_UNUSABLE = (
    httpx2.HTTPError, httpx2.InvalidURL, jwt.PyJWTError,
    OSError, ValueError, TypeError, AttributeError, RecursionError,
)  # fmt: skip
"""Errors that can be raised for an invalid response."""


class Issuer:
    """Verifies tokens from the authorization server `issuer` that were issued for `audience`. The issuer's keys are
    fetched for the first token and refreshed later. An issuer must be used in only one event loop."""

    def __init__(self, issuer: str, audience: str, jwks: str | None = None, types: Sequence[str] = ("at+jwt",)) -> None:
        self.issuer = issuer
        self._audience = audience
        self._jwks = jwks
        self._types = frozenset(map(_plain_type, types))
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._since = self._tried = -VALID_SECONDS
        self._fetching: asyncio.Task[None] | None = None
        self._good: LRUCache[bytes, float] = LRUCache(MOST_CACHED_TOKENS)

    async def verify(self, token: str) -> AccessToken | None:
        """Returns the caller identified by the token, or None if the token is invalid. Logs the issuer's errors and the
        reasons for rejecting correctly signed tokens."""
        if len(token) > LONGEST:
            return None
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            key = await self._key(kid) if isinstance(kid, str) else None
            if key is None:
                return None
            whole = jwt.decode_complete(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self._audience,
                issuer=self.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, RecursionError):
            return None
        claims = whole["payload"]
        name = _caller(claims)
        problem = (
            "it identifies no caller (sub or client_id)" if name is None else self._problem(whole["header"], claims)
        )
        if name is None or problem is not None:
            log.warning("rejected a token from %s: %s", self.issuer, problem)
            return None
        self._good[_digest(token)] = claims["exp"]
        return _access(name, claims)

    def _problem(self, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str | None:
        """Returns the reason for rejecting a correctly signed token, or None if the token is valid for this server."""
        kind = header.get("typ", "JWT")
        if not isinstance(kind, str) or _plain_type(kind) not in self._types:
            taken = " or ".join(sorted(self._types))
            return f"its type is {str(kind)[:60]!a}, not {taken}; add it to serve.oauth.types if access tokens use it"
        if "cnf" in claims:
            return "it is bound to a client's key (cnf), which is not supported; issue plain bearer tokens"
        for name in ("exp", "nbf", "iat"):
            value = claims.get(name, 0)
            if type(value) not in (int, float) or not 0 <= value <= LAST_MOMENT:
                return f"{name} is not a date"
        return None

    def has_seen(self, token: str) -> bool:
        """Returns whether the token has been valid before and has not expired since."""
        return self._good.get(_digest(token), 0.0) > time.time()

    async def _key(self, kid: str) -> jwt.PyJWK | None:
        """Returns the issuer's key, or None if the key does not exist or could not be fetched in time. Starts a fetch
        if necessary, unless a fetch is running or was started recently."""
        now = time.monotonic()
        age = now - self._since
        if age >= VALID_SECONDS:
            self._keys = {}
        due = (kid not in self._keys or age >= FRESH_SECONDS) and now - self._tried >= PAUSE_SECONDS
        if due and self._fetching is None:
            self._tried = now
            self._fetching = asyncio.create_task(self._fetch())
        if kid not in self._keys and self._fetching is not None:
            await asyncio.wait([self._fetching], timeout=FETCH_SECONDS)
        return self._keys.get(kid)

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                self._keys = await _fetched(self.issuer, self._jwks)
            self._since = time.monotonic()
        except _UNUSABLE as error:
            log.error("cannot fetch the keys from %s (%s)", self.issuer, type(error).__name__)
        except ConfigError as error:
            log.error(str(error))
        finally:
            self._fetching = None


def issuer_of(settings: OAuthSettings, url: str) -> Issuer | None:
    """Returns the configured issuer for the server at `url`, or None if none is configured."""
    if settings.issuer is None:
        return None
    return Issuer(settings.issuer, settings.audience or url, settings.jwks, settings.types)


async def _fetched(issuer: str, jwks: str | None) -> dict[str, jwt.PyJWK]:
    """Fetches the issuer's keys from `jwks` or the URL in its metadata. Raises `ConfigError` if the metadata has no
    usable URL, and `_UNUSABLE` if a response is invalid."""
    async with httpx2.AsyncClient(headers={"accept-encoding": "identity"}) as web:
        keys = jwt.PyJWKSet.from_dict(await _answer(web, jwks or await _published(web, issuer))).keys
    return {key.key_id: key for key in keys if isinstance(key.key_id, str) and key.public_key_use in ("sig", None)}


async def _published(web: httpx2.AsyncClient, issuer: str) -> str:
    """Returns the URL of the issuer's keys, from its metadata (RFC 8414, or OpenID Connect Discovery)."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    addresses = [f"{origin}/.well-known/{name}{path}" for name in METADATA]
    addresses.append(f"{origin}{path}/.well-known/{METADATA[1]}")
    for address in dict.fromkeys(addresses):
        try:
            metadata = await _answer(web, address)
        except _UNUSABLE:
            continue
        if isinstance(metadata, dict) and metadata.get("issuer") == issuer and "jwks_uri" in metadata:
            return _safe(issuer, metadata["jwks_uri"])
    raise ConfigError(
        f"{issuer} publishes no metadata that lists its keys; set serve.oauth.jwks, or correct the issuer"
    )


def _safe(issuer: str, address: object) -> str:
    """Validates the keys' URL from the metadata in the same way as the setting `serve.oauth.jwks`."""
    try:
        return OAuthSettings.model_validate({"jwks": str(address)}).jwks or ""
    except ValueError:
        raise ConfigError(
            f"{issuer} publishes its keys at {str(address)[:200]!a}, which is not an https address; "
            "set serve.oauth.jwks"
        ) from None


async def _answer(web: httpx2.AsyncClient, address: str) -> Any:
    """Fetches JSON from a URL without following redirects. Raises `_UNUSABLE` if the response is invalid."""
    body = bytearray()
    async with web.stream("GET", address) as answer:
        if answer.status_code != 200:
            raise ValueError(f"{address} responded with {answer.status_code}")
        async for piece in answer.aiter_raw():
            body += piece
            if len(body) > LARGEST_ANSWER:
                raise ValueError(f"{address} sent too much data")
    return json.loads(body)


def _plain_type(kind: str) -> str:
    return kind.lower().removeprefix("application/")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _caller(claims: Mapping[str, Any]) -> str | None:
    """Returns the caller's name, or None if the JWT does not identify anyone. The name cannot clash with the name of
    one of our own tokens. Prefers the user to the client program, because users of the same program must not share
    jobs."""
    for prefix, claim in (("oauth:", "sub"), ("oauth client:", "client_id"), ("oauth client:", "azp")):
        if isinstance(named := claims.get(claim), str) and named:
            return prefix + named
    return None


def _access(name: str, claims: Mapping[str, Any]) -> AccessToken:
    scopes = claims.get("scope", claims.get("scp"))
    listed = scopes.split() if isinstance(scopes, str) else scopes if isinstance(scopes, list) else []
    return AccessToken(
        token="",
        client_id=name,
        scopes=[scope for scope in listed if isinstance(scope, str)],
        subject=claims.get("sub"),
        claims={"iss": claims["iss"], "exp": claims["exp"]},
    )


log = logging.getLogger(__name__)


class Access:
    """Verifies tokens for the SDK (`TokenVerifier`). Rejects tokens that cannot be checked."""

    def __init__(self, tokens: Tokens, issuer: Issuer | None, closed: bool, graphs: Sequence[str]) -> None:
        """`closed` means that callers need a token even if none has been created. `graphs` are the served graphs.
        Tokens that cover none of these graphs are rejected."""
        self._graphs = graphs
        self._tokens = tokens
        self._issuer = issuer
        self._closed = closed or issuer is not None

    def required(self) -> bool:
        """Returns whether callers need a token. Always true once a token has been created, even if all tokens have been
        revoked."""
        if not self._closed:
            try:
                self._closed = bool(self._tokens.all())
            except XkgError:
                return True
        return self._closed

    def is_cheap(self, token: str) -> bool:
        """Returns whether a token is cheap enough to check without a rate limit. A token is cheap to check if it has
        our prefix or has been valid before."""
        return token.startswith(PREFIX) or (self._issuer is not None and self._issuer.has_seen(token))

    async def verify_token(self, token: str) -> AccessToken | None:
        found = await self._found(token)
        return found if found is not None and self.reads(found) else None

    def reads(self, found: AccessToken) -> bool:
        """Returns whether a token or session may read one of the served graphs."""
        return may_read(found.scopes, self._graphs)

    async def _found(self, token: str) -> AccessToken | None:
        if not token.startswith(PREFIX):
            return None if self._issuer is None else await self._issuer.verify(token)
        try:
            known = self._tokens.find(token)
        except XkgError as error:
            log.error(str(error))
            return None
        if known is None:
            return None
        # Do not pass the secret on.
        named = [f"{GRAPH_SCOPE}{graph}" for graph in known.graphs]
        return AccessToken(token="", client_id=known.name, scopes=[*known.scopes, *named])


def bearer(scope: Scope) -> str:
    """Returns the request's bearer token, or '' if there is none."""
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    kind, _, token = header.decode("latin-1").partition(" ")
    return token if kind.lower() == "bearer" else ""
