"""An MCP server whose error messages have one line and say what to do."""

import difflib
import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

from mcp.server import CacheHint, MCPServer
from mcp.server.mcpserver.context import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, GetPromptResult, Icon, InputRequiredResult
from mcp_types import Tool as ListedTool
from mcp_types.methods import CacheableMethod
from pydantic import ValidationError

from xkg.serve.answers.quoting import LONGEST_ERROR, one_line, refusal
from xkg.serve.protocol.progress import reporting
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


def _website() -> str | None:
    """Returns the homepage from the package's metadata, if any."""
    try:
        urls = metadata("xkg").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    return dict(url.split(", ", 1) for url in urls).get("Homepage")


def _icons() -> list[Icon] | None:
    """Returns the web pages' icon, or None if the package has no homepage. The icon is a URL rather than data, because
    every answer repeats the icon."""
    home = _website()
    if home is None:
        return None
    return [Icon(src=f"{home}/raw/HEAD/xkg/web/static/icon.svg", mime_type="image/svg+xml", sizes=["any"])]


class PlainErrors(MCPServer[Any]):
    """The SDK's server with our own name and error messages. Unknown arguments are errors."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            "xkg",
            title="xkg: executable knowledge graphs of papers",
            website_url=_website(),
            icons=_icons(),
            version=__version__,
            log_level="WARNING",
            cache_hints=FRESH,
            **options,
        )
        self.middleware.append(reporting())
        self._accepted: dict[str, tuple[str, ...]] = {}
        self._required: dict[str, tuple[str, ...]] = {}
        self._lists: dict[str, list[str]] = {}
        self._listed: list[ListedTool] = []

    async def run_stdio_async(self) -> None:
        from xkg.serve.protocol.jsonrpc import answering_stdio

        async with answering_stdio() as (read, write):
            await self._lowlevel_server.run(read, write, self._lowlevel_server.create_initialization_options())

    def add_tool(self, fn: Callable[..., Any], *args: Any, **options: Any) -> None:
        super().add_tool(fn, *args, **options)
        name = options.get("name") or fn.__name__
        taken = inspect.signature(fn).parameters
        self._accepted[f"tool {name}"] = tuple(taken)
        self._lists[name] = [argument for argument in taken if _takes_list(self._tool_manager.get_tool(name), argument)]

    async def list_tools(self) -> list[ListedTool]:
        """Returns the tools with short schemas (`published`). Cached until the set of tools changes."""
        whole = await super().list_tools()
        if len(self._listed) != len(whole):
            self._listed = published(whole)
        return self._listed

    def add_prompt(self, prompt: Prompt) -> None:
        super().add_prompt(prompt)
        takes = prompt.arguments or []
        self._accepted[f"prompt {prompt.name}"] = tuple(argument.name for argument in takes)
        self._required[prompt.name] = tuple(argument.name for argument in takes if argument.required)

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Returns the prompt. Raises `MCPError` with a one-line message if the prompt is unknown, or if an argument is
        missing, invalid or unknown."""
        given = arguments or {}
        if (wrong := self._no_prompt(name, given) or self._unknown("prompt", name, given)) is not None:
            raise MCPError(code=INVALID_PARAMS, message=wrong)
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            if (invalid := _invalid(error)) is None:
                raise
            raise MCPError(code=INVALID_PARAMS, message=_argument(name, invalid)) from invalid

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Calls the tool. Raises `ToolError` with a one-line message about the first invalid argument, or with the
        tool's own error. Because some frameworks and models send them, nulls are accepted for omitted arguments, and
        strings instead of lists."""
        arguments = {argument: value for argument, value in arguments.items() if value is not None}
        arguments = self._named(name, arguments)
        lists = self._lists.get(name, ())
        arguments |= {argument: [arguments[argument]] for argument in lists if _is_one(arguments.get(argument))}
        if (wrong := self._unknown("tool", name, arguments)) is not None:
            raise ToolError(wrong)
        try:
            return await super().call_tool(name, arguments, context)
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

    def _named(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Renames an id argument if the caller used a different tool's name for it."""
        taken = [argument for argument in self._accepted.get(f"tool {tool}", ()) if argument in _ID_NAMES]
        given = [argument for argument in arguments if argument in _ID_NAMES]
        if len(taken) != 1 or len(given) != 1:
            return arguments
        return {taken[0] if argument in given else argument: value for argument, value in arguments.items()}

    def _no_prompt(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Returns the error for an unknown prompt or a missing argument, or None."""
        if name not in self._required:
            return f"there is no prompt {name[:80]!a}; available prompts: {', '.join(self._required) or 'none'}"
        missing = next((argument for argument in self._required[name] if argument not in arguments), None)
        return None if missing is None else f"{name}: {missing}: Field required"

    def _unknown(self, kind: str, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Returns the error for the first argument that a tool or prompt does not accept, or None."""
        accepted = self._accepted.get(f"{kind} {name}")
        unknown = next((argument for argument in arguments if accepted is not None and argument not in accepted), None)
        if unknown is None or accepted is None:
            return None
        near = difflib.get_close_matches(unknown, accepted, n=1, cutoff=0.55)
        instead = f"use {near[0]}" if near else f"it takes {', '.join(accepted) or 'none'}"
        return f"{name}: there is no argument {unknown[:80]!a}; {instead}"


def _takes_list(tool: Tool | None, argument: str) -> bool:
    """Whether an argument's schema accepts lists but not strings."""
    schema: Mapping[str, Any] = tool.parameters["properties"].get(argument, {}) if tool is not None else {}
    types = {each.get("type") for each in schema.get("anyOf", [schema])}
    return "array" in types and "string" not in types


def _is_one(value: Any) -> bool:
    """Whether the value is a single string. JSON lists are excluded, because the SDK parses them."""
    return isinstance(value, str) and not value.lstrip().startswith("[")


def _invalid(error: BaseException) -> ValidationError | None:
    """Returns the validation error that caused this error, if any."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ValidationError):
        cause = cause.__cause__
    return cause


def _argument(tool: str, wrong: ValidationError) -> str:
    problem: Mapping[str, Any] = wrong.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in problem["loc"]) or "arguments"
    return f"{tool}: {place}: {one_line(str(problem['msg']))[:LONGEST_ERROR]}"
