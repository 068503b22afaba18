"""Who calls a tool."""

from mcp.server.auth.middleware.auth_context import get_access_token

from xkg.serve.jobs.authority import OPERATOR, Caller, caller_of


def caller(*, by_token: bool) -> Caller:
    """The caller of the tool that is being called: who its token says, or the user who started the server."""
    return caller_of(get_access_token()) if by_token else OPERATOR
