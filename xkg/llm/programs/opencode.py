"""Asks OpenCode, as described at https://opencode.ai/docs/cli and https://opencode.ai/docs/config."""

import json
from collections.abc import Mapping, Sequence

from xkg.llm.endpoint import Reply
from xkg.llm.programs.program import Asked, Program, ProgramError, Ran, Start, count, login_file, own_settings

_OWN_MODEL = ("model", "small_model", "provider", "disabled_providers", "enabled_providers")
"""The user's settings that determine which model answers. Other settings, such as MCP servers, are ignored."""
_AGENT = "xkg"


class OpenCode(Program):
    name = "opencode"
    title = "OpenCode"
    executable = "opencode"
    inherits = ("ANTHROPIC_", "OPENROUTER_API_KEY", "OPENCODE_API_KEY", "AWS_", "GOOGLE_", "GEMINI_API_KEY")
    log_in = "opencode auth login"
    reports_dollars = True
    searches = True

    def start(self, asked: Asked) -> Start:
        """Uses an agent whose only tool is search, without the user's AGENTS.md, plugins or MCP servers."""
        own = login_file(asked.variables, "XDG_CONFIG_HOME", ".config") / "opencode"
        permission = {"*": "deny", **({"websearch": "allow"} if asked.search else {})}
        agent = {"mode": "primary", "prompt": asked.system, "permission": permission}
        config = {
            **own_settings(_OWN_MODEL, own / "opencode.json", own / "opencode.jsonc"),
            "agent": {_AGENT: agent},
            "permission": permission,
            "share": "disabled",
            "autoupdate": False,
        }
        arguments = ["run", "--pure", "--format=json", f"--agent={_AGENT}", f"--title={_AGENT}"]
        return Start(
            [*arguments, *([f"--model={asked.model}"] if asked.model else [])],
            asked.prompt_with_schema,
            {
                "XDG_CONFIG_HOME": str(asked.folder / "config"),
                "OPENCODE_CONFIG_CONTENT": json.dumps(config),
                "OPENCODE_DISABLE_CLAUDE_CODE": "1",
                "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
                **({"OPENCODE_ENABLE_EXA": "1"} if asked.search else {}),
            },
        )

    def read(self, ran: Ran, asked: Asked) -> Reply:
        said = ran.events
        for event in said:
            if event.get("type") == "error":
                error = event.get("error") or {}
                return asked.failed(str((error.get("data") or {}).get("message") or error.get("name")))
        parts = [event.get("part") or {} for event in said]
        text = "".join(str(part.get("text")) for part in parts if part.get("type") == "text")
        ends = [part for part in parts if part.get("type") == "step-finish"]
        if not ends:
            raise ProgramError(ran.complaint)
        used = [part.get("tokens") or {} for part in ends]
        cached = sum(count((tokens.get("cache") or {}).get("read")) for tokens in used)
        dollars = sum(float(part.get("cost") or 0) for part in ends)
        return Reply(
            "ok",
            text,
            cached + sum(count(tokens.get("input")) for tokens in used),
            cached,
            sum(count(tokens.get("output")) for tokens in used),
            dollars=dollars,
        )

    def logged_in(self, variables: Mapping[str, str], /) -> Sequence[str] | bool:
        return (login_file(variables, "XDG_DATA_HOME", ".local/share") / "opencode" / "auth.json").exists()
