"""Access tokens of an OAuth 2.1 authorization server, checked as RFC 9068 and RFC 8725 say: JWTs signed with one of
the issuer's published keys, for us, not expired."""

import logging
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
"""Asymmetric ones alone: with a shared secret whoever checks a token could also make one."""

METADATA = ("oauth-authorization-server", "openid-configuration")
LEEWAY_SECONDS = 30
FETCH_SECONDS = 10
LONGEST = 16_384


class Issuer:
    """The authorization server `issuer`, whose tokens must be for `audience`. Its keys are fetched when the first token
    comes, and again when they change."""

    def __init__(self, issuer: str, audience: str, jwks: str | None = None) -> None:
        self.issuer = issuer
        self._audience = audience
        self._jwks = jwks
        self._client: jwt.PyJWKClient | None = None

    async def verify(self, token: str) -> AccessToken | None:
        """Who it stands for, or None for what is not a token for us. A fault of the issuer is logged."""
        if len(token) > LONGEST:
            return None
        return await anyio.to_thread.run_sync(self._verified, token)

    def _verified(self, token: str) -> AccessToken | None:
        try:
            kid = jwt.get_unverified_header(token).get("kid")
            if not isinstance(kid, str):
                return None
            claims = jwt.decode(
                token,
                self._keys().get_signing_key(kid),
                algorithms=ALGORITHMS,
                audience=self._audience,
                issuer=self.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWKClientConnectionError:
            log.error("the keys of %s cannot be fetched: its tokens are refused meanwhile", self.issuer)
            return None
        except ConfigError as error:
            log.error(str(error))
            return None
        except jwt.PyJWTError:
            return None
        return _access(claims)

    def _keys(self) -> jwt.PyJWKClient:
        if self._client is None:
            self._client = jwt.PyJWKClient(self._jwks or _published(self.issuer), timeout=FETCH_SECONDS)
        return self._client


def issuer_of(settings: OAuthSettings, url: str) -> Issuer | None:
    """The issuer in force for the server at `url`."""
    return None if settings.issuer is None else Issuer(settings.issuer, settings.audience or url, settings.jwks)


def _published(issuer: str) -> str:
    """The address of the issuer's keys, from its metadata (RFC 8414, or OpenID Connect Discovery)."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    tried = [f"{origin}/.well-known/{name}{path}" for name in METADATA]
    tried.append(f"{origin}{path}/.well-known/{METADATA[1]}")
    for address in dict.fromkeys(tried):
        try:
            answer = requests.get(address, timeout=FETCH_SECONDS, allow_redirects=False)
            metadata = answer.json() if answer.status_code == 200 else None
        except (requests.RequestException, ValueError):
            continue
        if isinstance(metadata, dict) and metadata.get("issuer") == issuer and "jwks_uri" in metadata:
            return str(metadata["jwks_uri"])
    raise ConfigError(f"{issuer} publishes no metadata with its keys: set serve.oauth.jwks, or mend the issuer")


def _access(claims: dict[str, Any]) -> AccessToken:
    scopes = claims.get("scope", claims.get("scp", ""))
    client = next((claims[name] for name in ("client_id", "azp", "sub") if isinstance(claims.get(name), str)), "oauth")
    subject = claims.get("sub")
    return AccessToken(
        token="",
        client_id=client,
        scopes=scopes.split() if isinstance(scopes, str) else [str(scope) for scope in scopes],
        subject=subject if isinstance(subject, str) else None,
        claims={"iss": claims["iss"]},
    )
