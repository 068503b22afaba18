"""An MCP server with one-line error messages that say what to do."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import anyio
from mcp.server import CacheHint, MCPServer
from mcp.server.context import ServerMiddleware
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult
from mcp_types import Tool as ListedTool
from mcp_types.methods import CacheableMethod
from pydantic import ValidationError

from xkg.serve.answers.quoting import LONGEST_ERROR, one_line, refusal
from xkg.serve.protocol.published_schemas import published
from xkg.version import __version__

_ID_NAMES = frozenset(["id", "technique", "paper", "code"])


FRESH: Mapping[CacheableMethod, CacheHint] = {
    "tools/list": CacheHint(600_000),
    "prompts/list": CacheHint(600_000),
    "resources/templates/list": CacheHint(600_000),
    "resources/list": CacheHint(60_000),
    "resources/read": CacheHint(60_000),
}
"""How long a caller may cache an answer, in milliseconds. A server's tools never change while the server is running,
but its papers may."""


class PlainErrors(MCPServer[Any]):
    """Extends the SDK's server with our own name and error messages. Unknown arguments are errors."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            "xkg",
            title="xkg: executable knowledge graphs of papers",
            version=__version__,
            log_level="WARNING",
            cache_hints=FRESH,
            **options,
        )
        self.middleware.append(reporting())
        self._listed: list[ListedTool] = []

    async def run_stdio_async(self) -> None:
        from xkg.serve.protocol.jsonrpc import checked_stdio

        async with checked_stdio() as (read, write):
            await self._lowlevel_server.run(read, write, self._lowlevel_server.create_initialization_options())

    async def list_tools(self) -> list[ListedTool]:
        """Returns the tools with short schemas (`published`). The schemas are cached until the set of tools changes."""
        whole = await super().list_tools()
        if len(self._listed) != len(whole):
            self._listed = published(whole)
        return self._listed

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Returns the prompt. Raises `MCPError` with a one-line message if the prompt is unknown, or if an argument is
        missing, invalid or unknown."""
        if (wrong := self._wrong_prompt(name, arguments or {})) is not None:
            raise MCPError(code=INVALID_PARAMS, message=wrong)
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            if (invalid := _invalid(error)) is None:
                raise
            raise MCPError(code=INVALID_PARAMS, message=_argument(name, invalid)) from invalid

    def _wrong_prompt(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        if (prompt := self._prompt_manager.get_prompt(name)) is None:
            names = [each.name for each in self._prompt_manager.list_prompts()]
            return f"there is no prompt {name[:80]!a}; available prompts: {', '.join(names) or 'none'}"
        takes = prompt.arguments or []
        missing = next((each.name for each in takes if each.required and each.name not in arguments), None)
        if missing is not None:
            return f"{name}: {missing}: Field required"
        return _unknown(name, [each.name for each in takes], arguments)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Calls the tool. Raises `ToolError` with a one-line message about the first invalid argument, or with the
        tool's own error. Nulls are accepted for omitted arguments, because some frameworks send them."""
        given = {argument: value for argument, value in arguments.items() if value is not None}
        if (tool := self._tool_manager.get_tool(name)) is not None:
            accepted = list(tool.parameters["properties"])
            given = _named(accepted, given)
            if (wrong := _unknown(name, accepted, given)) is not None:
                raise ToolError(wrong)
        try:
            return await super().call_tool(name, given, context)
        except UnexpectedToolError as error:
            raise UnexpectedToolError(f"{name} failed because of a server error; see the server's log") from error
        except ToolError as error:
            match error.__cause__:
                case ValidationError() as invalid:
                    raise ToolError(_argument(name, invalid)) from invalid
                case ToolError() as ours:
                    raise ToolError(str(ours)) from ours.__cause__
                case _:
                    raise ToolError(refusal(error)) from None


def _named(accepted: Sequence[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """Renames an id argument if the caller used a different tool's name for it."""
    taken = [argument for argument in accepted if argument in _ID_NAMES]
    given = [argument for argument in arguments if argument in _ID_NAMES]
    if len(taken) != 1 or len(given) != 1:
        return arguments
    return {taken[0] if argument in given else argument: value for argument, value in arguments.items()}


def _unknown(name: str, accepted: Sequence[str], arguments: Mapping[str, Any]) -> str | None:
    unknown = next((argument for argument in arguments if argument not in accepted), None)
    if unknown is None:
        return None
    near = difflib.get_close_matches(unknown, accepted, n=1, cutoff=0.55)
    instead = f"use {near[0]}" if near else f"it takes {', '.join(accepted) or 'none'}"
    return f"{name}: there is no argument {unknown[:80]!a}; {instead}"


def _invalid(error: BaseException) -> ValidationError | None:
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ValidationError):
        cause = cause.__cause__
    return cause


def _argument(tool: str, wrong: ValidationError) -> str:
    problem: Mapping[str, Any] = wrong.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in problem["loc"]) or "arguments"
    return f"{tool}: {place}: {one_line(str(problem['msg']))[:LONGEST_ERROR]}"


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
