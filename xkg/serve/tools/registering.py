"""How a function becomes a tool: its answer as text and as structured content, its errors in our own words."""

import functools
from collections.abc import Callable
from typing import Annotated, Literal, ParamSpec, Protocol, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from xkg.errors import XkgError
from xkg.serve.answer_json import structured
from xkg.serve.answer_text import text_for_agents
from xkg.serve.answers import Value

P = ParamSpec("P")
Answer = TypeVar("Answer", bound=Value)

Detail = Annotated[
    Literal["concise", "full"], Field(description="concise leaves out what the answer names; full gives all")
]
Id = Annotated[str, Field(min_length=1, max_length=1000)]

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
"""What holds of a tool that only looks into the graph."""


class Tool(Protocol):
    """Decorates a function that takes what a client may say and returns an answer; its docstring is the description."""

    def __call__(
        self, title: str, annotations: ToolAnnotations = READS
    ) -> Callable[[Callable[P, Answer]], Callable[P, Answer]]: ...


def registering(server: MCPServer) -> Tool:
    """The decorator that adds tools to `server`."""

    def tool(title: str, annotations: ToolAnnotations = READS) -> Callable[[Callable[P, Answer]], Callable[P, Answer]]:
        def add(ask: Callable[P, Answer]) -> Callable[P, Answer]:
            titled = annotations.model_copy(update={"title": title})
            server.add_tool(_told(ask), title=title, annotations=titled, structured_output=True)
            return ask

        return add

    return tool


def _told(ask: Callable[P, Answer]) -> Callable[P, CallToolResult]:
    @functools.wraps(ask)
    def told(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            answer = ask(*args, **kwargs)
        except XkgError as error:
            raise ToolError(str(error)) from error
        return CallToolResult(
            content=[TextContent(type="text", text=text_for_agents(answer))],  # type: ignore[arg-type]
            structured_content=structured(answer),
        )

    told.__annotations__ = {**ask.__annotations__, "return": Annotated[CallToolResult, ask.__annotations__["return"]]}
    return told
