"""Access tokens of an OAuth 2.1 authorization server, checked as RFC 9068 and RFC 8725 say: JWTs signed with one of
the issuer's published keys, for us, not expired.

Anybody may send a token, so a forged one must cost no more than checking its signature: keys are fetched in the
background, one fetch at a time and seldom, and a token with a known key waits for no fetch.
"""

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
import jwt
import requests
from mcp.server.auth.provider import AccessToken

from xkg.config import OAuthSettings
from xkg.errors import ConfigError

log = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Asymmetric ones alone: with a shared secret whoever checks a token could also issue one."""

METADATA = ("oauth-authorization-server", "openid-configuration")
LEEWAY_SECONDS = 30
FETCH_SECONDS = 5.0
"""Time limit for the keys and the metadata that names their address together."""

FRESH_SECONDS = 300.0
VALID_SECONDS = 3600.0
"""Keys are fetched again after `FRESH_SECONDS`, and stay valid so long where that fails."""

PAUSE_SECONDS = 30.0
"""Between two fetches, so that tokens of unknown keys cause few."""

LONGEST = 16_384
LARGEST_ANSWER = 262_144
MOST_CACHED_TOKENS = 10_000


class Issuer:
    """The authorization server `issuer`, whose tokens must be for `audience`. Its keys are fetched when the first token
    comes, and again when they change. For one event loop."""

    def __init__(self, issuer: str, audience: str, jwks: str | None = None) -> None:
        self.issuer = issuer
        self._audience = audience
        self._keys = _Keys(issuer, lambda until: _fetched(jwks or _published(issuer, until), until))
        self._good: OrderedDict[bytes, float] = OrderedDict()

    async def verify(self, token: str) -> AccessToken | None:
        """The caller that the token names, or None for an invalid token. A fault of the issuer is logged."""
        if len(token) > LONGEST:
            return None
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            key = await self._keys.get(kid) if isinstance(kid, str) else None
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self._audience,
                issuer=self.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError:
            return None
        name = _caller(claims)
        if name is None:
            return None
        self._good[_digest(token)] = float(claims["exp"])
        if len(self._good) > MOST_CACHED_TOKENS:
            self._good.popitem(last=False)
        return _access(name, claims)

    def has_seen(self, token: str) -> bool:
        """Whether the token was found valid before and has not expired since."""
        return self._good.get(_digest(token), 0.0) > time.time()


class _Keys:
    """The issuer's keys by their ids."""

    def __init__(self, issuer: str, fetch: Callable[[float], Mapping[str, jwt.PyJWK]]) -> None:
        """`fetch` returns the keys before a moment of the monotonic clock; it may block."""
        self._issuer = issuer
        self._fetch = fetch
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._since = self._tried = -VALID_SECONDS
        self._fetching: asyncio.Task[None] | None = None
        self._limiter = anyio.CapacityLimiter(1)  # a thread of its own, not one of the tools

    async def get(self, kid: str) -> jwt.PyJWK | None:
        """The key, or None where there is none, or none arrives in time."""
        age = time.monotonic() - self._since
        if age >= VALID_SECONDS:
            self._keys = {}
        if kid not in self._keys or age >= FRESH_SECONDS:
            self._refresh()
        if kid not in self._keys and self._fetching is not None:
            await asyncio.wait([self._fetching], timeout=FETCH_SECONDS)
        return self._keys.get(kid)

    def _refresh(self) -> None:
        """Starts a fetch, unless one is under way or was a moment ago."""
        now = time.monotonic()
        if self._fetching is None and now - self._tried >= PAUSE_SECONDS:
            self._tried = now
            self._fetching = asyncio.create_task(self._renew(now + FETCH_SECONDS))

    async def _renew(self, until: float) -> None:
        try:
            self._keys = await anyio.to_thread.run_sync(
                self._fetch, until, abandon_on_cancel=True, limiter=self._limiter
            )
            self._since = time.monotonic()
        except (requests.RequestException, OSError, ValueError, jwt.PyJWTError) as error:
            log.error("the keys of %s cannot be fetched (%s)", self._issuer, type(error).__name__)
        except ConfigError as error:
            log.error(str(error))
        finally:
            self._fetching = None


def issuer_of(settings: OAuthSettings, url: str) -> Issuer | None:
    """The issuer in force for the server at `url`."""
    return None if settings.issuer is None else Issuer(settings.issuer, settings.audience or url, settings.jwks)


def _published(issuer: str, until: float) -> str:
    """The address of the issuer's keys, from its metadata (RFC 8414, or OpenID Connect Discovery)."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    addresses = [f"{origin}/.well-known/{name}{path}" for name in METADATA]
    addresses.append(f"{origin}{path}/.well-known/{METADATA[1]}")
    for address in dict.fromkeys(addresses):
        try:
            metadata = _answer(address, until)
        except (requests.RequestException, OSError, ValueError):
            continue
        if isinstance(metadata, dict) and metadata.get("issuer") == issuer and "jwks_uri" in metadata:
            return str(metadata["jwks_uri"])
    raise ConfigError(f"{issuer} publishes no metadata with its keys: set serve.oauth.jwks, or correct the issuer")


def _fetched(address: str, until: float) -> dict[str, jwt.PyJWK]:
    keys = jwt.PyJWKSet.from_dict(_answer(address, until)).keys
    return {key.key_id: key for key in keys if key.key_id and key.public_key_use in ("sig", None)}


def _answer(address: str, until: float) -> Any:
    """The JSON at an address, if it arrives before that moment. Raises `OSError`, `ValueError`, and what `requests`
    raises."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError(address)
    body = bytearray()
    with requests.get(address, timeout=left, allow_redirects=False, stream=True) as answer:
        if answer.status_code != 200:
            raise ValueError(f"{address} answers {answer.status_code}")
        while piece := answer.raw.read1(65_536, decode_content=True):
            body += piece
            if len(body) > LARGEST_ANSWER or time.monotonic() > until:
                raise ValueError(f"{address} answers too much, or too slowly")
    return json.loads(body)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _caller(claims: dict[str, Any]) -> str | None:
    """The name of the caller, which no token of ours can have; None for a JWT that names nobody. The user, not the
    program: many users share one, and may not share their jobs."""
    for prefix, claim in (("oauth:", "sub"), ("oauth client:", "client_id"), ("oauth client:", "azp")):
        if isinstance(named := claims.get(claim), str) and named:
            return prefix + named
    return None


def _access(name: str, claims: dict[str, Any]) -> AccessToken:
    scopes = claims.get("scope", claims.get("scp", ""))
    subject = claims.get("sub")
    return AccessToken(
        token="",
        client_id=name,
        scopes=scopes.split() if isinstance(scopes, str) else [str(scope) for scope in scopes],
        subject=subject if isinstance(subject, str) else None,
        claims={"iss": claims["iss"], "exp": claims["exp"]},
    )
