"""Asks Gemini CLI, as described at https://geminicli.com/docs/cli/headless and
https://geminicli.com/docs/reference/configuration."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xkg.llm.endpoint import Reply
from xkg.llm.programs.program import Asked, Program, ProgramError, Ran, Start, count, login_file, own_settings

_HOME = "GEMINI_CLI_HOME", ""
_LOGIN = ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "installation_id", "user_id")
_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA")
_SETTINGS: Mapping[str, Any] = {
    "context": {"includeDirectoryTree": False},
    "hooksConfig": {"enabled": False},
    "skills": {"enabled": False},
    "agents": {"enabled": False},
    "general": {"enableAutoUpdate": False, "topicUpdateNarration": False},
    "privacy": {"usageStatisticsEnabled": False},
}
_SEARCH = "google_web_search"
_DENIED = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 998\n'
_ALLOWED = f'[[rule]]\ntoolName = "{_SEARCH}"\ndecision = "allow"\npriority = 999\n'


class Gemini(Program):
    name = "gemini"
    title = "Gemini CLI"
    executable = "gemini"
    inherits = ("GEMINI_CLI_HOME", "GEMINI_API_KEY", "GOOGLE_", "CLOUDSDK_")
    log_in = "gemini, then /auth"
    reports_dollars = False
    searches = True

    def start(self, asked: Asked) -> Start:
        """Prepares a separate home folder with the user's login method, but without GEMINI.md."""
        home, own = asked.folder / "home", login_file(asked.variables, *_HOME) / ".gemini"
        policy, system = asked.folder / "policy.toml", asked.folder / "system.md"
        (home / ".gemini").mkdir(parents=True)
        for name in _LOGIN:
            if (own / name).exists():
                (home / ".gemini" / name).symlink_to(own / name)
        settings = {
            **_SETTINGS,
            "tools": {"core": [_SEARCH if asked.search else "none"]},
            "security": {"auth": _way_in(own)},
        }
        (home / ".gemini" / "settings.json").write_text(json.dumps(settings), "utf-8")
        policy.write_text(_DENIED + _ALLOWED * asked.search, "utf-8")
        system.write_text(asked.system, "utf-8")
        arguments = ["--output-format=json", "--skip-trust", "--extensions=none", "--allowed-mcp-server-names=none"]
        arguments += [f"--policy={policy}", *([f"--model={asked.model}"] if asked.model else [])]
        variables = {"GEMINI_CLI_HOME": str(home), "GEMINI_SYSTEM_MD": str(system)}
        return Start(arguments, asked.prompt_with_schema, variables)

    def read(self, ran: Ran, asked: Asked) -> Reply:
        printed = ran.output if "{" in ran.output else ran.errors
        try:
            result, _ = json.JSONDecoder().raw_decode(printed, printed.index("{"))
            stats = [model["tokens"] for model in result["stats"]["models"].values()] if "stats" in result else []
        except (ValueError, KeyError, AttributeError, TypeError):
            raise ProgramError(ran.complaint) from None
        if result.get("error"):
            return asked.failed(str(result["error"].get("message")))
        prompt, cached, written = (sum(count(tokens.get(key)) for tokens in stats) for key in _COUNTS)
        return Reply("ok", str(result.get("response") or ""), prompt, cached, written)

    def logged_in(self, variables: Mapping[str, str], /) -> Sequence[str] | bool:
        own = login_file(variables, *_HOME) / ".gemini"
        return any(variables.get(key) for key in _KEYS) or any((own / name).exists() for name in _LOGIN[:3])


_COUNTS = ("prompt", "cached", "candidates")


def _way_in(own: Path) -> Mapping[str, Any]:
    security = own_settings(("security",), own / "settings.json").get("security")
    auth = security.get("auth") if isinstance(security, dict) else None
    return auth if isinstance(auth, dict) else {}
