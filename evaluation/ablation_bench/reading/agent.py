"""A `react` agent that reads a paper, with or without a graph."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from inspect_ai.agent import Agent, AgentPrompt, AgentState, AgentSubmit, agent, react, run
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ChatMessageUser, Model, get_model
from inspect_ai.tool import Tool, ToolSource, mcp_server_stdio
from inspect_ai.util import message_limit

from evaluation.ablation_bench.reading.file_tools import Files, find_text, list_files, read_lines

OBSERVATIONS = 5
MOST_MESSAGES = 100
MOST_BYTES = 65_536
"""The maximum size of a tool result: the server answers in up to 8,000 tokens, and Inspect cuts the middle out of
longer texts."""

_FILES = (
    "The text of the paper is in files: list_files, read_lines and find_text read them. Read all of it that the task "
    "is about before you answer."
)
_GRAPH = (
    "You also have the tools of a knowledge graph, built from this text and from other papers. Begin with "
    "plan_context, with the paper's title: it has the components of the method; search_techniques, get_technique and "
    "related_papers find what other papers do in their place."
)


async def ask_agent(
    system: str, question: str, paper: Path, graph: str = "", model: Model | None = None
) -> tuple[AgentState, Counter[str]]:
    """Runs a `react` agent that reads a paper's files and, if `graph` names a folder, that graph through its MCP
    server. Returns its final state and the errors. If `model` is None, the model under evaluation is used. An agent
    that does not submit is stopped after `MOST_MESSAGES`, and its last message is its answer."""
    files = Files(paper)
    tools: list[Tool | ToolSource] = [list_files(files), read_lines(files), find_text(files)]
    if graph:
        tools.append(_server(graph))
    reader = react(
        prompt=AgentPrompt(instructions="\n\n".join(filter(None, (system, _FILES, graph and _GRAPH)))),
        tools=tools,
        model=last_observations(OBSERVATIONS, model),
        submit=AgentSubmit(description="Submit the whole answer: discussion and predictions.", answer_only=True),
    )
    end, limit = await run(reader, [ChatMessageUser(content=question)], limits=[message_limit(MOST_MESSAGES)])
    return end, Counter({f"agent stopped after {MOST_MESSAGES} messages": 1} if limit else {})


def _server(graph: str) -> ToolSource:
    """The server of a graph. It opens no folder, because the removed text may be next to the benchmark."""
    given = {name: value for name, value in os.environ.items() if name.startswith(("XKG_", "NEO4J_"))}
    return mcp_server_stdio(
        name="xkg",
        command=sys.executable,
        args=["-m", "xkg.commands.serve", "--kg", str(Path(graph).resolve())],
        env={
            **given,
            "XKG_SERVE__ROOTS": os.pathsep,
            "XKG_LLM__MODEL": "none",
        },  # "" would mean the working folder of this process
    )


@agent
def last_observations(count: int, model: Model | None = None) -> Agent:
    """Asks the model with the last `count` observations in full; earlier ones are replaced with a note."""

    async def execute(state: AgentState, tools: list[Tool]) -> AgentState:
        state.output = await get_model(model).generate(elided(state.messages, count), tools)
        state.messages.append(state.output.message)
        return state

    return execute


def elided(messages: Sequence[ChatMessage], count: int) -> list[ChatMessage]:
    """The messages without the results of all but the last `count` observations. An observation is the results of one
    turn's calls, so a model that makes many at once sees them all."""
    turns = [
        n for n, message in enumerate(messages) if isinstance(message, ChatMessageAssistant) and message.tool_calls
    ]
    first = turns[-count] if len(turns) > count else 0
    return [
        message.model_copy(update={"content": "(an old observation, left out)"})
        if isinstance(message, ChatMessageTool) and n < first
        else message
        for n, message in enumerate(messages)
    ]
