"""Tests which programs are found and suggested, and how their output is parsed. The outputs were recorded from the real
programs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from xkg.commands.build import build
from xkg.commands.doctor import examine
from xkg.config import LlmSettings, Settings
from xkg.errors import ModelUnavailableError
from xkg.llm.programs.known import PROGRAMS, inherited
from xkg.llm.programs.program import Asked, ProgramError, Ran

ANSWER = '{"name": "SVGD"}'
USAGE = {"input_tokens": 1000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 400, "output_tokens": 50}
RESULT: Mapping[str, Any] = {
    "type": "result", "subtype": "success", "is_error": False, "result": ANSWER, "stop_reason": "tool_use",
    "total_cost_usd": 0.00645, "usage": USAGE, "structured_output": {"name": "SVGD"},
}  # fmt: skip
GEMINI = {"response": ANSWER, "stats": {"models": {"m": {"tokens": {"prompt": 1000, "candidates": 50, "cached": 400}}}}}
STEP = {"type": "step-finish", "tokens": {"input": 600, "output": 50, "cache": {"write": 0, "read": 400}}, "cost": 0.01}

ANSWERED = {
    "claude-code": json.dumps(RESULT),
    "codex": '{"type":"thread.started"}\n{"type":"item.completed","item":{"type":"agent_message","text":'
    + json.dumps(ANSWER)
    + '}}\n{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":400,"output_tokens":50}}\n',
    "gemini": json.dumps(GEMINI, indent=2),
    "opencode": json.dumps({"type": "text", "part": {"type": "text", "text": ANSWER}})
    + "\n"
    + json.dumps({"type": "step_finish", "part": STEP}),
}
FAILED = {
    "claude-code": Ran(json.dumps({**RESULT, "is_error": True, "result": "Not logged in · Please run /login"}), "", 1),
    "codex": Ran('{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}', "", 1),
    "gemini": Ran("", '{\n "error": {"message": "Please set an Auth method", "code": 41}\n}', 41),
    "opencode": Ran('{"type":"error","error":{"name":"APIError","data":{"message":"401 nope"}}}', "", 1),
}
SAID = {"claude-code": "Not logged in", "codex": "401", "gemini": "Auth method", "opencode": "401 nope"}
DOLLARS = {"claude-code": 0.00645, "codex": None, "gemini": None, "opencode": 0.01}


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked("", "You name.", "Which?", {"type": "object"}, tmp_path, {"HOME": str(tmp_path)})


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_answer_is_read_with_its_tokens_and_cost(name: str, asked: Asked) -> None:
    reply = PROGRAMS[name].read(Ran(ANSWERED[name], "a warning", 0), asked)
    assert (reply.ending, json.loads(reply.text)) == ("ok", {"name": "SVGD"})
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (
        1400 if name == "claude-code" else 1000,  # its cached tokens are counted separately
        400,
        50,
    )
    assert reply.dollars == DOLLARS[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_failure_is_no_answer(name: str, asked: Asked) -> None:
    with pytest.raises(ProgramError, match=SAID[name]):
        PROGRAMS[name].read(FAILED[name], asked)
    with pytest.raises(ProgramError, match="segmentation fault"):
        PROGRAMS[name].read(Ran("", "segmentation fault", 139), asked)


def test_a_question_that_is_too_long_is_barred_and_not_a_failure(asked: Asked) -> None:
    ran = Ran(json.dumps({**RESULT, "is_error": True, "result": "Prompt is too long"}), "", 1)
    assert PROGRAMS["claude-code"].read(ran, asked).ending == "barred"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gets_its_own_login_and_no_key_of_xkg(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"claude-code": "ANTHROPIC_API_KEY", "codex": "CODEX_API_KEY", "gemini": "GEMINI_API_KEY"}
    for variable in ("OPENAI_API_KEY", "XKG_LLM_KEY", "XKG_KG", "GITHUB_TOKEN", "CLAUDECODE", *own.values()):
        monkeypatch.setenv(variable, "secret")
    variables = inherited(PROGRAMS[name])
    assert not {"OPENAI_API_KEY", "XKG_LLM_KEY", "XKG_KG", "GITHUB_TOKEN", "CLAUDECODE"} & set(variables)
    if name in own:
        assert variables[own[name]] == "secret"


def test_the_users_memories_and_servers_stay_out(tmp_path: Path, asked: Asked) -> None:
    for name, text in {
        ".codex/config.toml": 'model = "own"\n[mcp_servers.evil]\ncommand = "touch"\n',
        ".codex/AGENTS.md": "remember",
        ".config/opencode/opencode.json": '{"model": "own/m", "mcp": {"evil": {"command": ["touch"]}}}',
        ".gemini/GEMINI.md": "remember",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    codex = PROGRAMS["codex"].start(asked)
    config = (Path(codex.variables["CODEX_HOME"]) / "config.toml").read_text()
    assert 'model = "own"' in config
    assert "evil" not in config
    assert not (Path(codex.variables["CODEX_HOME"]) / "AGENTS.md").exists()
    opencode = json.loads(PROGRAMS["opencode"].start(asked).variables["OPENCODE_CONFIG_CONTENT"])
    assert (opencode["model"], "mcp" in opencode) == ("own/m", False)
    home = Path(PROGRAMS["gemini"].start(asked).variables["GEMINI_CLI_HOME"])
    assert not (home / ".gemini" / "GEMINI.md").exists()


def test_a_build_without_a_key_names_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "claude"  # this program only answers `auth status`
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\ntest \"$1 $2\" = 'auth status'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    (tmp_path / "paper.md").write_text("# A\n")
    with pytest.raises(ModelUnavailableError) as caught:
        build(Settings(kg=tmp_path / "kg"), tmp_path / "paper.md", None)
    line = str(caught.value)
    assert "no API key" in line
    assert "Claude Code is installed; try --llm claude-code" in line
    found = {check.name: check for check in examine(Settings(kg=tmp_path, llm=LlmSettings(model="none"))).findings}
    assert found["Claude Code"].seen == f"{fake}, logged in"
    assert (found["Codex"].seen, found["Codex"].ok, found["Codex"].optional) == ("not installed", False, True)
