"""Registers functions as tools. Answers are returned as text and structured content. Errors use our own messages
instead of the SDK's."""

import base64
import functools
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, ParamSpec, Protocol, TypeVar

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ContentBlock, ImageContent, ResourceLink, TextContent, ToolAnnotations
from pydantic import BeforeValidator, Field

from xkg.errors import XkgError
from xkg.serve.answer_text import text_for_agents
from xkg.serve.answers import budget
from xkg.serve.answers.budget import LONGEST_ID
from xkg.serve.answers.json import structured
from xkg.serve.answers.paging import MOST_CHARACTERS
from xkg.serve.answers.quoting import one_line, refusal
from xkg.serve.graphs import graphs_of, with_graph
from xkg.serve.running.answer import RunAnswer
from xkg.serve.service import Service
from xkg.value import Value

P = ParamSpec("P")
Answer = TypeVar("Answer", bound=Value)

Detail = Annotated[
    budget.Detail,
    Field(description="about 800 tokens (full: up to 8,000)"),
]
Cursor = Annotated[
    str | None,
    Field(
        max_length=MOST_CHARACTERS,
        description="from the previous answer; keep the other arguments",
    ),
]
PAPER = "id (arxiv:2006.10726), title or its beginning, or method name (tent)"
Strings = Annotated[list[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]
"""Also accepts a single string, because some models send a string instead of a list."""
Id = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]


def filled(most: int, description: str) -> Any:
    """Returns the field for a text argument that must not be empty."""
    return Field(min_length=1, max_length=most, description=description)


READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
"""Hints for tools that only read the graph."""


class Tool(Protocol):
    """Registers a function that takes the client's arguments and returns an answer. The docstring becomes the tool's
    description. `waits` means that the tool waits for something other than the graph. Calls to such a tool are
    abandoned if the client disconnects or the server shuts down. If `offered` is false, nothing is registered."""

    def __call__(
        self, title: str, annotations: ToolAnnotations = READS, *, waits: bool = False, offered: bool = True
    ) -> Callable[[Callable[P, Answer]], Callable[P, Answer]]: ...


def registering(server: MCPServer, service: Service) -> Tool:
    """Returns a decorator that adds tools to `server`. If `service` has several graphs, the tools have a `graph`
    argument."""
    graphs = tuple(graphs_of(service))

    def tool(
        title: str, annotations: ToolAnnotations = READS, *, waits: bool = False, offered: bool = True
    ) -> Callable[[Callable[P, Answer]], Callable[P, Answer]]:
        def add(ask: Callable[P, Answer]) -> Callable[P, Answer]:
            if not offered:
                return ask
            titled = annotations.model_copy(update={"title": title})
            rendered = with_graph(_as_tool(ask), graphs)
            server.add_tool(
                _abandoned_on_cancel(rendered) if waits else rendered,
                title=title,
                annotations=titled,
                structured_output=True,
            )
            return ask

        return add

    return tool


def _as_tool(ask: Callable[P, Answer]) -> Callable[P, CallToolResult]:
    @functools.wraps(ask)
    def tool(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        try:
            answer = ask(*args, **kwargs)
        except XkgError as error:
            raise ToolError(refusal(error)) from error
        return _render(answer)

    tool.__annotations__ = {**ask.__annotations__, "return": Annotated[CallToolResult, ask.__annotations__["return"]]}
    return tool


def _render(answer: Value) -> CallToolResult:
    content: list[ContentBlock] = [TextContent(type="text", text=text_for_agents(answer))]  # type: ignore[arg-type]
    fields = structured(answer)
    if uri := fields.get("uri"):
        content.append(ResourceLink(uri=uri, name=one_line(str(fields["id"])), mime_type="application/json"))
    if isinstance(answer, RunAnswer):
        content += [
            ImageContent(type="image", data=base64.b64encode(file.content).decode(), mime_type=file.media_type)
            for file in answer.shown_to_models
        ]
    return CallToolResult(content=content, structured_content=fields)


def _abandoned_on_cancel(run: Callable[P, CallToolResult]) -> Callable[P, Awaitable[CallToolResult]]:
    @functools.wraps(run)
    async def waiting(*args: P.args, **kwargs: P.kwargs) -> CallToolResult:
        return await anyio.to_thread.run_sync(functools.partial(run, *args, **kwargs), abandon_on_cancel=True)

    return waiting
