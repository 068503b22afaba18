"""Runs the real agent programs from `make agents` against a server on loopback that speaks their protocols. A missing
program is replaced with a fake that prints recorded output."""

import json
import re
from pathlib import Path

import pytest

from tests.agent_server import CACHED, IN, OUT, AgentServer
from tests.conftest import ROOT
from tests.llm.programs.test_known import ANSWERED
from xkg.llm.endpoint import Request
from xkg.llm.programs.known import PROGRAMS, program_of
from xkg.llm.programs.program_endpoint import ProgramEndpoint

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
SEARCHES = {
    "claude-code": "WebSearch",
    "codex": "web_search",
    "gemini": "google_web_search",
    "opencode": "websearch",
}
SECOND_TIER = pytest.mark.product("needs programs of npm, and seconds")


def installed(name: str) -> Path:
    executable = PROGRAMS[name].executable
    return ROOT / ".agents" / executable / "node_modules" / ".bin" / executable


NAMES = [
    pytest.param(name, marks=SECOND_TIER, id=name if installed(name).exists() else f"fake-{name}") for name in PROGRAMS
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "CODEX_HOME", "GEMINI_CLI_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def configure(home: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes the programs' own configuration, with the server's address and data that must not reach a question."""
    for name, value in {
        "OPENAI_API_KEY": "sk-of-xkg",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-own",
        "GEMINI_API_KEY": "own",
        "GOOGLE_GEMINI_BASE_URL": url,
    }.items():
        monkeypatch.setenv(name, value)
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{url}/v1", "apiKey": "own"}}
    server = {"command": "touch", "args": [str(home / "started")]}
    for name, text in {
        ".claude/CLAUDE.md": "REMEMBERED",
        ".claude.json": json.dumps({"mcpServers": {"other": {"type": "stdio", **server}}}),
        ".codex/AGENTS.md": "REMEMBERED",
        ".codex/auth.json": json.dumps({"OPENAI_API_KEY": "sk-own"}),
        ".codex/config.toml": f"""
model = "own"
model_provider = "own"
model_providers.own = {{ name = "own", base_url = "{url}/v1", wire_api = "responses", requires_openai_auth = true }}
mcp_servers.other = {{ command = "touch", args = ["{home / "started"}"] }}
""",
        ".gemini/GEMINI.md": "REMEMBERED",
        ".gemini/settings.json": json.dumps(
            {"security": {"auth": {"selectedType": "gemini-api-key"}}, "mcpServers": {"other": server}}
        ),
        ".config/opencode/AGENTS.md": "REMEMBERED",
        ".config/opencode/opencode.json": json.dumps(
            {
                "model": "own/m",
                "provider": {"own": {**provider, "models": {"m": {}}}},
                "mcp": {"other": {"type": "local", "command": ["touch", str(home / "started")], "enabled": True}},
            }
        ),
    }.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_real_program_answers_without_tools_or_keys(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = installed(name)
    is_fake = not program.exists()
    if is_fake:
        program = home / "fake" / PROGRAMS[name].executable
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{ANSWERED[name]}\nEND\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    messages = [
        {"role": "system", "content": "You name techniques."},
        {"role": "user", "content": "Which one?"},
        {"role": "assistant", "content": "{}"},
        {"role": "user", "content": "That has no name."},
    ]
    with AgentServer(lambda _: '{"name": "SVGD"}') as server:
        configure(home, server.url, monkeypatch)
        model = "gemini:gemini-3-pro" if name == "gemini" else name
        known = program_of(model)
        assert known is not None
        reply = ProgramEndpoint(*known, seconds=120).complete(Request(model, messages, SCHEMA))
    assert (reply.ending, json.loads(reply.text)) == ("ok", {"name": "SVGD"})
    if is_fake:
        return
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (IN, CACHED, OUT)
    assert not (home / "started").exists(), "no MCP server of the user was started"
    asked = json.dumps(server.requests[-1])
    for text in ("You name techniques.", "Which one?", "Your answer was:", "That has no name."):
        assert text in asked
    assert "additionalProperties" in asked
    assert "REMEMBERED" not in asked
    assert "sk-of-xkg" not in asked
    tools = [tool.get("name") or tool for tool in server.requests[-1].get("tools", ())]
    # The program sends either the tool for the answer, a tool that asks a user who is absent, or an empty list.
    assert tools in ([], ["StructuredOutput"], ["request_user_input"], [{"functionDeclarations": []}])
    assert not list((home / "cache" / "xkg" / "programs").iterdir())


@pytest.mark.parametrize("name", [name for name in PROGRAMS if installed(name).exists()])
@SECOND_TIER
def test_a_program_that_searches_has_that_tool_alone(name: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(installed(name).parent), prepend=":")
    model = "gemini:gemini-3-pro" if name == "gemini" else name
    known = program_of(model)
    assert known is not None
    with AgentServer(lambda _: '{"name": "SVGD"}') as server:
        configure(home, server.url, monkeypatch)
        messages = [{"role": "system", "content": "You search."}, {"role": "user", "content": "Which one?"}]
        reply = ProgramEndpoint(*known, seconds=120).complete(Request(model, messages, SCHEMA, search=True))
    assert (reply.ending, json.loads(reply.text)) == ("ok", {"name": "SVGD"})
    named = set(re.findall(r'"(?:name|type)": "(\w+)"', json.dumps(server.requests[-1]["tools"])))
    assert SEARCHES[name] in named
    assert not {each.lower() for each in named} & {"bash", "shell", "exec_command", "webfetch", "read", "write", "edit"}
