"""Decides who may request, see and end jobs and runs; the single rule for every entry point.

`Jobs` and `CallersRuns` check it before they do anything, so tools and pages cannot differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from xkg.errors import InputError
from xkg.serve.jobs.table import Kind

if TYPE_CHECKING:
    from mcp.server.auth.provider import AccessToken

Action = Literal["ask", "see", "end", "answer"]
Asked = Kind | Literal["run"]
"""The request of a caller: a kind of job, or the run of a script."""

ADMIN = "admin"
SCOPE_OF: dict[Asked, str] = {"build": "build", "curate": "build", "implement": "agents", "run": "run"}


class NotAllowedError(InputError):
    """The caller lacks a scope."""


@dataclass(frozen=True)
class Caller:
    """The caller of a request. No two callers share a `name`: a token's name is one plain word, an OAuth caller's
    begins with `oauth`, and the operator's has a space. `anonymous` is a caller of an HTTP server that needs no
    token."""

    name: str
    scopes: frozenset[str]
    anonymous: bool = False


OPERATOR = Caller("local user", frozenset((*SCOPE_OF.values(), ADMIN)))
"""The user who started the server, over stdio."""

_ANONYMOUS = Caller("", frozenset(), anonymous=True)


def caller_of(token: "AccessToken | None") -> Caller:
    """The caller of an HTTP request that was admitted with this token; None if the server needs no token."""
    return _ANONYMOUS if token is None else Caller(token.client_id, frozenset(token.scopes))


def may(caller: Caller, action: Action, kind: Asked, owner: str) -> bool:
    """Whether the caller may do this with a job of this kind that `owner` requested. For a new request, the caller is
    the owner."""
    own = owner == caller.name and SCOPE_OF[kind] in caller.scopes
    return own or ADMIN in caller.scopes or (action == "see" and sees_all(caller))


def sees_all(caller: Caller) -> bool:
    """Whether the caller sees everybody's jobs and the costs. A server that needs no token shows them to everybody on
    its machine, like the graph. Requesting or ending a job needs a token there too."""
    return caller.anonymous or ADMIN in caller.scopes


def require(caller: Caller, action: Action, kinds: Sequence[Asked]) -> None:
    """Raises `NotAllowedError` if the caller may not do this with any job of these kinds, not even an own one."""
    if any(may(caller, action, kind, caller.name) for kind in kinds):
        return
    scopes = list(dict.fromkeys(SCOPE_OF[kind] for kind in kinds or get_args(Kind)))
    raise NotAllowedError(
        f"this needs a token with the scope {' or '.join(scopes)}: ask the server's operator for one "
        f"(`xkg token create NAME --scope read --scope {scopes[0]}`)"
    )
