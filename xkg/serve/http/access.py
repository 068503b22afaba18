"""Authenticates callers by tokens issued by this server or by the OAuth authorization server."""

import logging
from collections.abc import Sequence

from mcp.server.auth.provider import AccessToken
from starlette.types import Scope

from xkg.errors import XkgError
from xkg.serve.graphs import GRAPH_SCOPE, may_read
from xkg.serve.http.oauth import Issuer
from xkg.serve.http.tokens import PREFIX, Tokens

log = logging.getLogger(__name__)


class Access:
    """A `TokenVerifier` for the SDK, which rejects any token that it cannot check."""

    def __init__(self, tokens: Tokens, issuer: Issuer | None, closed: bool, graphs: Sequence[str]) -> None:
        """`closed` means that callers need a token even if none has been created. `graphs` are the served graphs.
        Tokens that cover none of these graphs are rejected."""
        self._graphs = graphs
        self._tokens = tokens
        self._issuer = issuer
        self._closed = closed or issuer is not None

    def required(self) -> bool:
        """Whether callers need a token. Always true once a token has been created, even if all tokens have been
        revoked."""
        if not self._closed:
            try:
                self._closed = bool(self._tokens.all())
            except XkgError:
                return True
        return self._closed

    def is_cheap(self, token: str) -> bool:
        """Whether a token is cheap enough to check without a rate limit. This is the case if the token has our prefix
        or has been valid before."""
        return token.startswith(PREFIX) or (self._issuer is not None and self._issuer.has_seen(token))

    async def verify_token(self, token: str) -> AccessToken | None:
        found = await self._found(token)
        return found if found is not None and self.reads(found) else None

    def reads(self, found: AccessToken) -> bool:
        """Whether a token or session may read one of the served graphs."""
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
        # The secret is not passed on.
        named = [f"{GRAPH_SCOPE}{graph}" for graph in known.graphs]
        return AccessToken(token="", client_id=known.name, scopes=[*known.scopes, *named])


def bearer(scope: Scope) -> str:
    """Returns the request's bearer token, or '' if there is none."""
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    kind, _, token = header.decode("latin-1").partition(" ")
    return token if kind.lower() == "bearer" else ""
