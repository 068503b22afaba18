"""Asks Codex. `codex exec` and its `config.toml` are described at
https://developers.openai.com/codex/noninteractive."""

import json
from collections.abc import Mapping, Sequence

import tomlkit

from xkg.llm.endpoint import Reply
from xkg.llm.programs.program import Asked, Program, ProgramError, Ran, Start, count, login_file, own_settings

_HOME = "CODEX_HOME", ".codex"
_OWN_MODEL = (
    "model",
    "model_provider",
    "model_providers",
    "model_reasoning_effort",
    "openai_base_url",
    "chatgpt_base_url",
)
"""The user's settings that determine which model answers. Other settings, such as MCP servers and hooks, are
ignored."""
_WITHOUT = {
    "project_doc_max_bytes": 0,
    "include_permissions_instructions": False,
    "include_environment_context": False,
    "include_apps_instructions": False,
    "skills": {"include_instructions": False},
}
_NO_FEATURES = (
    "apps", "goals", "hooks", "image_generation", "memories", "multi_agent", "plugins", "shell_tool", "skill_search",
    "sleep_tool", "tool_suggest", "unified_exec", "view_image",
)  # fmt: skip
"""Features that provide tools or memories (`codex features list`)."""


class Codex(Program):
    name = "codex"
    title = "Codex"
    executable = "codex"
    inherits = ("CODEX_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN")
    log_in = "codex login"
    reports_dollars = False
    searches = True

    def start(self, asked: Asked) -> Start:
        """Prepares a separate home folder with the user's login and model, but without AGENTS.md."""
        home, schema, system = asked.folder / "codex", asked.folder / "schema.json", asked.folder / "system.md"
        home.mkdir()
        own = login_file(asked.variables, *_HOME)
        # Link the file instead of copying it, so that the program can save a renewed login.
        (home / "auth.json").symlink_to(own / "auth.json")
        chosen = own_settings(_OWN_MODEL, own / "config.toml")
        named = {"model": asked.model} if asked.model else {}
        config = {**chosen, **named, **_WITHOUT, "model_instructions_file": str(system)}
        config["web_search"] = "live" if asked.search else "disabled"
        config["features"] = dict.fromkeys(_NO_FEATURES, False)
        (home / "config.toml").write_text(tomlkit.dumps(config), "utf-8")
        schema.write_text(json.dumps(asked.schema), "utf-8")
        system.write_text(asked.system, "utf-8")
        arguments = ["exec", "--json", "--ephemeral", "--ignore-rules", "--skip-git-repo-check", "--sandbox=read-only"]
        return Start([*arguments, f"--output-schema={schema}", "-"], asked.prompt, {"CODEX_HOME": str(home)})

    def read(self, ran: Ran, asked: Asked) -> Reply:
        said = ran.events
        for event in said:
            if event.get("type") == "turn.failed":
                return asked.failed(str((event.get("error") or {}).get("message")))
        items = [event.get("item") or {} for event in said if event.get("type") == "item.completed"]
        answers = [str(item.get("text")) for item in items if item.get("type") == "agent_message"]
        usage = next((event.get("usage") or {} for event in said if event.get("type") == "turn.completed"), None)
        if usage is None:
            raise ProgramError(ran.complaint)
        return Reply(
            "ok",
            answers[-1] if answers else "",
            count(usage.get("input_tokens")),
            count(usage.get("cached_input_tokens")),
            count(usage.get("output_tokens")),
        )

    def logged_in(self, _: Mapping[str, str], /) -> Sequence[str] | bool:
        return ["login", "status"]
