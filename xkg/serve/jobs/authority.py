"""Decides who may request, see and end jobs and runs.

`Jobs` and `CallersRuns` check permissions before doing anything else, so the rules are the same for tools and web
pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from xkg.errors import InputError
from xkg.serve.jobs.table import Kind

if TYPE_CHECKING:
    from mcp.server.auth.provider import AccessToken

Action = Literal["ask", "see", "end", "answer"]
Asked = Kind | Literal["run"]
"""The kind of request, which is a kind of job, or `run` for a script."""

ADMIN = "admin"
SCOPE_OF: dict[Asked, str] = {"build": "build", "curate": "build", "implement": "agents", "run": "run"}


class NotAllowedError(InputError):
    """The caller lacks a required scope."""


@dataclass(frozen=True)
class Caller:
    """The caller who made a request. `name` is unique: a token's name is a plain word, an OAuth caller's name begins
    with `oauth`, and the operator's name contains a space. `anonymous` is set if the HTTP server requires no token."""

    name: str
    scopes: frozenset[str]
    anonymous: bool = False


OPERATOR = Caller("local user", frozenset((*SCOPE_OF.values(), ADMIN)))
"""The user who started the stdio server."""

_ANONYMOUS = Caller("", frozenset(), anonymous=True)


def caller_of(token: "AccessToken | None") -> Caller:
    """Returns the caller for an HTTP request with this token. `token` is None if the server requires no token."""
    return _ANONYMOUS if token is None else Caller(token.client_id, frozenset(token.scopes))


def may(caller: Caller, action: Action, kind: Asked, owner: str) -> bool:
    """Returns whether the caller may perform this action on a job of this kind that was requested by `owner`. For a new
    request, `owner` is the caller."""
    own = owner == caller.name and SCOPE_OF[kind] in caller.scopes
    return own or ADMIN in caller.scopes or (action == "see" and sees_all(caller))


def sees_all(caller: Caller) -> bool:
    """Returns whether the caller may see all jobs and costs. If the server requires no token, everyone may see all jobs
    and costs, but a token is still needed to request or end a job."""
    return caller.anonymous or ADMIN in caller.scopes


def require(caller: Caller, action: Action, kinds: Sequence[Asked]) -> None:
    """Raises `NotAllowedError` unless the caller may perform this action, at least on its own jobs, for one of these
    kinds."""
    if any(may(caller, action, kind, caller.name) for kind in kinds):
        return
    scopes = list(dict.fromkeys(SCOPE_OF[kind] for kind in kinds or get_args(Kind)))
    raise NotAllowedError(
        f"this requires a token with the scope {' or '.join(scopes)}; ask the server's operator for one "
        f"(`xkg token create NAME --scope read --scope {scopes[0]}`)"
    )
