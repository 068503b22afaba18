"""Handles bodies that are not JSON-RPC messages."""

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xkg.serve.jsonrpc import message_error


class MessagesOnly:
    """Answers 400 with a JSON-RPC error to a body that is not a message. Expects the whole body at once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole = await receive()
        error = message_error(whole.get("body", b""))
        if error is not None:
            await JSONResponse(error.model_dump(exclude_none=True) | {"id": error.id}, 400)(scope, receive, send)
            return
        waiting: list[Message] = [whole]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, again, send)
