"""How a request is refused: a status, a reason that is counted, and one line that says what to do."""

from collections.abc import Mapping

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send


async def refuse(
    scope: Scope,
    receive: Receive,
    send: Send,
    status: int,
    reason: str,
    words: str,
    headers: Mapping[str, str] | None = None,
) -> None:
    scope.setdefault("state", {})["refused"] = reason
    response = JSONResponse({"error": reason, "error_description": words}, status_code=status, headers=headers)
    await response(scope, receive, send)
