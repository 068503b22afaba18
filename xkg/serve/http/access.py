"""Who may call: a token of ours, or one that the OAuth authorization server issued."""

import logging

from mcp.server.auth.provider import AccessToken

from xkg.errors import XkgError
from xkg.serve.http.oauth import Issuer
from xkg.serve.http.tokens import PREFIX, Tokens

log = logging.getLogger(__name__)


class Access:
    """A `TokenVerifier` of the SDK. What cannot be checked lets nobody in."""

    def __init__(self, tokens: Tokens, issuer: Issuer | None, closed: bool) -> None:
        """`closed`: whether callers must show a token whatever lies in the graph's folder."""
        self._tokens = tokens
        self._issuer = issuer
        self._closed = closed or issuer is not None

    def required(self) -> bool:
        """Whether a caller must show a token: as soon as one was created, and from then on, also when all are
        revoked."""
        if not self._closed:
            try:
                self._closed = bool(self._tokens.all())
            except XkgError:
                return True
        return self._closed

    def is_cheap(self, token: str) -> bool:
        """Whether to look at this token costs nothing worth a bound: it is one of ours, true or not, or a good one of
        the issuer that was looked at before."""
        return token.startswith(PREFIX) or (self._issuer is not None and self._issuer.has_seen(token))

    async def verify_token(self, token: str) -> AccessToken | None:
        if not token.startswith(PREFIX):
            return None if self._issuer is None else await self._issuer.verify(token)
        try:
            found = self._tokens.find(token)
        except XkgError as error:
            log.error(str(error))
            return None
        if found is None:
            return None
        # The secret itself goes no further than this.
        return AccessToken(token="", client_id=found.name, scopes=list(found.scopes))
