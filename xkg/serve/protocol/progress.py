"""Reports the progress of calls that take longer than two seconds, for clients that request progress."""

from typing import Any

import anyio
from mcp.server.context import ServerMiddleware
from mcp.shared.exceptions import MCPError

EVERY_SECONDS = 2.0


def reporting() -> ServerMiddleware[Any]:
    """Returns middleware that reports every two seconds how long a tool has been running, if the client sent a progress
    token."""

    async def middleware(ctx: Any, call_next: Any) -> Any:
        if ctx.method != "tools/call" or "progress_token" not in (ctx.meta or {}):
            return await call_next(ctx)
        failure: Exception | None = None
        async with anyio.create_task_group() as beside:
            beside.start_soon(_report, ctx, str((ctx.params or {}).get("name")))
            try:
                result = await call_next(ctx)
            except Exception as error:  # re-raised below, because the task group would wrap the error
                failure = error
            beside.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return result

    return middleware


async def _report(ctx: Any, name: str) -> None:
    count = 0
    while True:
        await anyio.sleep(EVERY_SECONDS)
        count += 1
        seconds = count * EVERY_SECONDS
        try:
            await ctx.session.report_progress(seconds, None, f"{name} has been running for {seconds:.0f} s")
        except (MCPError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return  # the client has disconnected
