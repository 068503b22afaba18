"""Decides who may request, see and end jobs and runs; every entry point uses this rule.

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
"""A caller's request: a kind of job, or the run of a script."""

ADMIN = "admin"
SCOPE_OF: dict[Asked, str] = {"build": "build", "curate": "build", "implement": "agents", "run": "run"}


class NotAllowedError(InputError):
    """The caller lacks a scope."""


@dataclass(frozen=True)
class Caller:
    """The caller of a request. No two callers share a `name`: a token's name is one plain word, an OAuth caller's name
    begins with `oauth`, and the operator's name contains a space. `anonymous` is a caller of an HTTP server that needs
    no token."""

    name: str
    scopes: frozenset[str]
    anonymous: bool = False


OPERATOR = Caller("local user", frozenset((*SCOPE_OF.values(), ADMIN)))
"""The user who started the server, over stdio."""

_ANONYMOUS = Caller("", frozenset(), anonymous=True)


def caller_of(token: "AccessToken | None") -> Caller:
    """Returns the caller of an HTTP request that was admitted with this token; `token` is None if the server needs
    none."""
    return _ANONYMOUS if token is None else Caller(token.client_id, frozenset(token.scopes))


def may(caller: Caller, action: Action, kind: Asked, owner: str) -> bool:
    """Whether the caller may perform this action on a job of this kind that `owner` requested. For a new request, the
    caller is the owner."""
    own = owner == caller.name and SCOPE_OF[kind] in caller.scopes
    return own or ADMIN in caller.scopes or (action == "see" and sees_all(caller))


def sees_all(caller: Caller) -> bool:
    """Whether the caller sees everyone's jobs and the costs. A server that needs no token shows them to everyone on its
    machine, like the graph; requesting or ending a job needs a token there too."""
    return caller.anonymous or ADMIN in caller.scopes


def require(caller: Caller, action: Action, kinds: Sequence[Asked]) -> None:
    """Raises `NotAllowedError` if the caller may not perform this action on any job of these kinds, not even its
    own."""
    if any(may(caller, action, kind, caller.name) for kind in kinds):
        return
    scopes = list(dict.fromkeys(SCOPE_OF[kind] for kind in kinds or get_args(Kind)))
    raise NotAllowedError(
        f"this needs a token with the scope {' or '.join(scopes)}: ask the server's operator for one "
        f"(`xkg token create NAME --scope read --scope {scopes[0]}`)"
    )
