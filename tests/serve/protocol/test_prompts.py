"""Checks that prompts name existing tools and ids, and contain no text from papers."""

import re

import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer

TOOL = re.compile(r"\b((?:get|search|find|related|plan)_[a-z]+|locate|cypher)\b")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("replicate_paper", {"paper": "Calm Hives"}, 'plan_context with paper="arxiv:2001.00001"'),
        ("plan_ablations", {"paper": "arxiv:2001.00001"}, "locate with its id:"),
        ("plan_ablations", {"paper": "arxiv:2001.00001", "repository": "/src"}, "and repository=/src"),
        ("implement_step", {"step": "blow {smoke}"}, "Implement this step: blow {smoke}"),
        ("implement_step", {"step": "x", "paper": "Calm Hives"}, 'papers=["arxiv:2001.00001"]'),
    ],
)
async def test_a_prompt_says_what_to_do_with_what(
    server: MCPServer, name: str, arguments: dict[str, str], words: str
) -> None:
    async with Client(server) as client:
        message = (await client.get_prompt(name, arguments)).messages[0]
        said = str(message.content.text)  # type: ignore[union-attr]
        assert words in said
        assert "data" in said
        assert "Calm Hives" not in said
        assert len(said) < 2048
        known = {tool.name for tool in (await client.list_tools()).tools}
        assert set(TOOL.findall(said)) <= known


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("implement_step", {"step": "x" * 5000}, r"^implement_step: step: String should have at most 4000"),
        (
            "replicate_paper",
            {"paper": "x", "repo": "y"},
            r"^replicate_paper: there is no argument 'repo'; use repository$",
        ),
        (
            "replicate",
            {"paper": "Calm Hives"},
            r"^there is no prompt 'replicate'; available prompts: .*replicate_paper",
        ),
    ],
)
async def test_what_is_wrong_with_a_prompts_arguments_is_said(
    server: MCPServer, name: str, arguments: dict[str, str], words: str
) -> None:
    async with Client(server) as client:
        with pytest.raises(MCPError, match=words):
            await client.get_prompt(name, arguments)
