"""Asks Claude Code. The options of `claude --print` are described at https://code.claude.com/docs/en/cli-reference."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from xkg.llm.endpoint import Reply
from xkg.llm.programs.program import Asked, Program, ProgramError, Ran, Start, count


class ClaudeCode(Program):
    name = "claude-code"
    title = "Claude Code"
    executable = "claude"
    # If xkg itself runs in a Claude Code session, the variables of that session are omitted.
    inherits = ("ANTHROPIC_", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_", "AWS_", "GOOGLE_")
    log_in = "claude, then /login"
    reports_dollars = True
    searches = True

    def start(self, asked: Asked) -> Start:
        """Turns off all MCP servers, hooks, plugins, skills and memories (`--safe-mode`), and all tools except search.
        The session is not saved."""
        return Start(
            [
                "--print",
                "--output-format=json",
                f"--json-schema={json.dumps(asked.schema)}",
                f"--system-prompt={asked.system}",
                *(["--tools=WebSearch", "--allowed-tools=WebSearch"] if asked.search else ["--tools="]),
                "--safe-mode",
                "--strict-mcp-config",
                "--disable-slash-commands",
                "--no-session-persistence",
                *([f"--model={asked.model}"] if asked.model else []),
            ],
            asked.prompt,
            {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        )

    def read(self, ran: Ran, asked: Asked) -> Reply:
        try:
            result = json.loads(ran.output)
            usage: dict[str, Any] = result.get("usage") or {}
            text = str(result.get("result") or "")
        except (ValueError, AttributeError):
            raise ProgramError(ran.complaint) from None
        if result.get("is_error") and result.get("subtype") == "success":
            return asked.failed(text)
        cached = count(usage.get("cache_read_input_tokens"))
        answer = result.get("structured_output")
        dollars = result.get("total_cost_usd")
        return Reply(
            "refused" if result.get("stop_reason") == "refusal" else "ok",
            text if answer is None else json.dumps(answer),
            count(usage.get("input_tokens")) + count(usage.get("cache_creation_input_tokens")) + cached,
            cached,
            count(usage.get("output_tokens")),
            dollars=float(dollars) if isinstance(dollars, (int, float)) else None,
        )

    def logged_in(self, _: Mapping[str, str], /) -> Sequence[str] | bool:
        return ["auth", "status"]
