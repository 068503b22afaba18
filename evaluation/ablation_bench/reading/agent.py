"""A `react` agent that reads a paper, with a graph or without."""

import sys
from pathlib import Path

from inspect_ai.agent import Agent, AgentPrompt, AgentState, AgentSubmit, agent, react
from inspect_ai.model import ChatMessage, ChatMessageTool, Model, get_model
from inspect_ai.tool import Tool, ToolSource, mcp_server_stdio

from evaluation.ablation_bench.reading.file_tools import Files, find_text, list_files, read_lines

OBSERVATIONS = 5


def reading_agent(system: str, paper: Path, graph: str = "", model: Model | None = None) -> Agent:
    """A `react` agent over the files of a paper, and the MCP tools of a graph, if one is named, that submits its
    answer; None for `model` is the one under evaluation."""
    files = Files(paper)
    tools: list[Tool | ToolSource] = [list_files(files), read_lines(files), find_text(files)]
    if graph:
        arguments = ["-m", "xkg.commands.serve", "--kg", str(Path(graph).resolve())]
        tools.append(mcp_server_stdio(name="xkg", command=sys.executable, args=arguments))
    return react(
        prompt=AgentPrompt(instructions=system),
        tools=tools,
        model=last_observations(OBSERVATIONS, model),
        submit=AgentSubmit(description="Submit the whole answer: discussion and predictions.", answer_only=True),
    )


@agent
def last_observations(count: int, model: Model | None = None) -> Agent:
    """Asks the model with the last `count` results of tools; earlier ones are named and left out."""

    async def execute(state: AgentState, tools: list[Tool]) -> AgentState:
        state.output = await get_model(model).generate(elided(state.messages, count), tools)
        state.messages.append(state.output.message)
        return state

    return execute


def elided(messages: list[ChatMessage], count: int) -> list[ChatMessage]:
    results = [message for message in messages if isinstance(message, ChatMessageTool)]
    old = {id(message) for message in results[: max(0, len(results) - count)]}
    return [
        message.model_copy(update={"content": "(an old observation, left out)"}) if id(message) in old else message
        for message in messages
    ]
