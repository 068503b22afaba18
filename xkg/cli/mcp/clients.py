"""Defines how MCP clients are configured: each client's entry, its file, and how to check the entry.

The formats are as of November 2026. Sources: code.claude.com/docs/en/mcp,
modelcontextprotocol.io/docs/develop/connect-local-servers (Claude Desktop), docs.cline.bot/mcp, Codex's `config.toml`
(`[mcp_servers.NAME]`), cursor.com/docs/mcp, geminicli.com/docs/tools/mcp-server, opencode.ai/docs/mcp-servers (OpenCode
2 also reads the format of version 1), code.visualstudio.com/docs/agents/reference/mcp-configuration,
docs.windsurf.com/windsurf/cascade/mcp, and zed.dev/docs/ai/mcp.
"""

import json
import os
import re
import shlex
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from xkg.config import plain_url
from xkg.errors import InputError
from xkg.text.address import address

Client = Literal[
    "claude-code", "claude-desktop", "cline", "codex", "cursor", "gemini", "opencode", "vscode", "windsurf", "zed"
]
CLIENTS: tuple[Client, ...] = get_args(Client)
Scope = Literal["project", "user"]

TOKEN_VARIABLE = "XKG_TOKEN"
_TOKEN_INPUT = "xkg-token"


@dataclass(frozen=True)
class _Format:
    """How a client is configured. `servers` is the name of the table of servers. `project` and `user` are the client's
    files. `project` and `user` are None if there is no such file, or if only the client may write it. `local` and
    `remote` are extra fields for each kind of server. `url` is the field for an address, or None if the file does not
    support addresses. `variable` is the syntax with which a header refers to an environment variable, or None if
    headers cannot do so. `check` tells the user how to check that the server works."""

    name: str
    servers: str
    project: str | None
    user: Callable[[], Path] | None
    check: str
    local: Mapping[str, str] = field(default_factory=dict)
    remote: Mapping[str, str] = field(default_factory=dict)
    url: str | None = "url"
    variable: str | None = "${{{}}}"


def _variable_or_home(variable: str, *otherwise: str) -> Path:
    return Path(os.environ.get(variable) or Path.home().joinpath(*otherwise))


def _application_data() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return _variable_or_home("APPDATA", "AppData", "Roaming")
    return _variable_or_home("XDG_CONFIG_HOME", ".config")


def _zed() -> Path:
    """Returns Zed's settings folder, which is the same on macOS and Linux."""
    if sys.platform == "darwin":
        return Path.home() / ".config" / "zed"
    return _application_data() / ("Zed" if sys.platform == "win32" else "zed")


_FORMATS: Mapping[Client, _Format] = {
    "claude-code": _Format(
        "Claude Code",
        "mcpServers",
        ".mcp.json",
        None,
        "`claude mcp get {name}`; or start claude, approve the server and type /mcp",
        local={"type": "stdio"},
        remote={"type": "http"},
    ),
    "claude-desktop": _Format(
        "Claude Desktop",
        "mcpServers",
        None,
        lambda: _application_data() / "Claude" / "claude_desktop_config.json",
        "quit Claude Desktop, start it again, and look for {name} under Settings, Developer",
        url=None,
    ),
    "cline": _Format(
        "Cline",
        "mcpServers",
        None,
        lambda: _variable_or_home("CLINE_MCP_SETTINGS_PATH", ".cline", "data", "settings", "cline_mcp_settings.json"),
        "`cline mcp`; or click MCP Servers in Cline, and look for {name}",
        local={"type": "stdio"},
        remote={"type": "streamableHttp"},
        variable=None,
    ),
    "codex": _Format(
        "Codex",
        "mcp_servers",
        ".codex/config.toml",
        lambda: _variable_or_home("CODEX_HOME", ".codex") / "config.toml",
        "`codex mcp list`; or start codex and type /mcp",
    ),
    "cursor": _Format(
        "Cursor",
        "mcpServers",
        ".cursor/mcp.json",
        lambda: Path.home() / ".cursor" / "mcp.json",
        "restart Cursor, and turn on {name} under Customize, MCPs; or `agent mcp list-tools {name}`",
        variable="${{env:{}}}",
    ),
    "gemini": _Format(
        "Gemini CLI",
        "mcpServers",
        ".gemini/settings.json",
        lambda: Path.home() / ".gemini" / "settings.json",
        "`gemini mcp list`; or start gemini and type /mcp",
        url="httpUrl",
    ),
    "opencode": _Format(
        "OpenCode",
        "mcp",
        "opencode.json",
        lambda: _variable_or_home("XDG_CONFIG_HOME", ".config") / "opencode" / "opencode.json",
        "`opencode mcp list`",
        local={"type": "local"},
        remote={"type": "remote"},
        variable="{{env:{}}}",
    ),
    "vscode": _Format(
        "VS Code",
        "servers",
        ".vscode/mcp.json",
        lambda: _application_data() / "Code" / "User" / "mcp.json",
        "run `MCP: List Servers` in the command palette, and start {name}",
        local={"type": "stdio"},
        remote={"type": "http"},
        # VS Code does not expand environment variables in headers (microsoft/vscode#336232). VS Code asks the user for
        # the token instead.
        variable=f"${{{{input:{_TOKEN_INPUT}}}}}",
    ),
    "windsurf": _Format(
        "Windsurf",
        "mcpServers",
        None,
        lambda: Path.home() / ".codeium" / "windsurf" / "mcp_config.json",
        "click MCPs in the Cascade panel, refresh, and look for {name}",
        url="serverUrl",
        variable="${{env:{}}}",
    ),
    "zed": _Format(
        "Zed",
        "context_servers",
        ".zed/settings.json",
        lambda: _zed() / "settings.json",
        "open the agent panel's settings, and check that {name} has a green dot",
        variable=None,  # Zed does not expand variables in headers (zed-industries/zed#60459)
    ),
}


@dataclass(frozen=True)
class Local:
    """A server that the client starts itself, over stdio."""

    command: Sequence[str]


@dataclass(frozen=True)
class Remote:
    """A server at an address. `token` is the name of the environment variable that contains the caller's token, or None
    if no token is needed. No file contains the token itself."""

    url: str
    token: str | None


@dataclass(frozen=True)
class Entry:
    """An entry in a client's file. The table `servers` contains `server` under `name`. VS Code asks the user for the
    `inputs`."""

    servers: str
    name: str
    server: Mapping[str, Any]
    inputs: Sequence[Mapping[str, Any]] = ()


def local(kg: Path, allowed: Sequence[str] = ()) -> Local:
    """Returns a server that runs this installation on the graph in `kg`. All paths are absolute. `allowed` are options
    for `xkg serve`. Raises `InputError` if a path has a special meaning for clients."""
    command = [*own_command(), "--kg", str(kg.expanduser().absolute()), "serve", *allowed]
    for part in command:
        if "$" in part or "{" in part or not part.isprintable():
            raise InputError(f"{part!a} has a special meaning for clients; use a folder with a plainer name")
    return Local(command)


def remote(url: str, token: str | None) -> Remote:
    """Returns a server at `url`. `token` defaults to XKG_TOKEN if the address is on another machine, and to no token if
    it is on this machine. Raises `InputError` if the address or the token's name is invalid."""
    try:
        place = address(plain_url(url))
    except ValueError:
        raise InputError(f"{url[:200]!a} is not an address; use https://HOST/mcp, without user or password") from None
    if "${" in url:
        raise InputError(f"{url[:200]!a} has a special meaning for clients; write the address in full")
    here = place.is_loopback
    if not here and place.scheme != "https":
        raise InputError(f"{url} would send tokens and answers unencrypted; use an https address")
    if token is not None and not re.fullmatch(r"(?!xkg_)[A-Za-z_][A-Za-z0-9_]{0,99}", token):
        raise InputError("--token-env requires the name of an environment variable, such as XKG_TOKEN, not a token")
    return Remote(url, token if token is not None or here else TOKEN_VARIABLE)


def own_command() -> list[str]:
    """Returns the command that starts this installation from any folder."""
    script = Path(sysconfig.get_path("scripts")) / "xkg"
    if os.access(script, os.X_OK):
        return [str(script)]
    # The option -P keeps Python from importing modules in the folder where a client starts servers.
    root = str(Path(__file__).resolve().parents[3])
    return [sys.executable, "-P", "-c", f"import sys; sys.path.append({root!r}); from xkg.cli.main import main; main()"]


def entry(client: Client, server: Local | Remote, name: str = "xkg") -> Entry:
    """Returns the entry for a client's file. Raises `InputError` if not all clients accept the name, or if this
    client's file does not support this kind of server."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", name):
        raise InputError(f"{name[:80]!a} is not a valid server name; use up to 40 letters, digits, - and _")
    form = _FORMATS[client]
    match server:
        case Local(command):
            words: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
            if client == "opencode":
                words = {"command": list(command)}
            return Entry(form.servers, name, {**form.local, **words})
        case Remote(url, token):
            if form.url is None:
                raise InputError(
                    f"the configuration file for {form.name} cannot contain addresses; add {url} under Settings, "
                    f"Connectors; or omit --url, and the client starts a server itself"
                )
            fields: dict[str, Any] = {**form.remote, form.url: url}
            if token is None:
                return Entry(form.servers, name, fields)
            if client == "codex":
                return Entry(form.servers, name, {**fields, "bearer_token_env_var": token})
            if form.variable is None:
                raise InputError(
                    f"{form.name} accepts a token only as plain text in its settings; add the server and its header "
                    f"yourself, or omit --url, and the client starts a server itself"
                )
            fields["headers"] = {"Authorization": f"Bearer {form.variable.format(token)}"}
            return Entry(form.servers, name, fields, [_token_input(token)] if client == "vscode" else [])


def default_scope(client: Client) -> Scope:
    """Returns `project` if the client has project files, and `user` otherwise."""
    return "user" if _FORMATS[client].project is None else "project"


def file_of(client: Client, scope: Scope, project: Path) -> Path:
    """Returns the client's file for a project or for the user. Raises `InputError` if there is no such file, or if only
    the client may write it."""
    form = _FORMATS[client]
    if scope == "project":
        if form.project is None:
            raise InputError(f"{form.name} has no project configuration; use --scope user")
        return project / form.project
    if form.user is None:
        raise InputError(
            f"{form.name} manages its user configuration itself; run the command printed by "
            f"`xkg mcp install {client} --scope user`"
        )
    return form.user()


def skill_of(client: Client, scope: Scope, project: Path) -> Path:
    """Returns the path for the skill that explains builds. Claude Code has a separate folder, and all other clients
    share one."""
    root = project if scope == "project" else Path.home()
    return root / (".claude" if client == "claude-code" else ".agents") / "skills" / "xkg-build" / "SKILL.md"


def add_command(client: Client, wanted: Entry) -> str | None:
    """Returns the client's own command for adding an entry for the user, or None if it has no such command."""
    if client != "claude-code":
        return None
    return shlex.join(["claude", "mcp", "add-json", "--scope", "user", wanted.name, json.dumps(wanted.server)])


def advice(client: Client, scope: Scope, server: Local | Remote, name: str) -> list[str]:
    """Returns lines that tell the user what to do next and how to check that the server works."""
    lines = []
    if isinstance(server, Remote) and server.token is not None:
        if client == "vscode":
            lines.append("VS Code asks for the token when it starts the server, and stores it in its secret storage")
        else:
            lines.append(f"the token is read from {server.token}; set it where the client is started")
        lines.append("the server's operator creates a token with `xkg token create NAME`")
    if isinstance(server, Local) and scope == "project":
        lines.append("the file contains paths on this machine; anyone you share it with needs their own paths")
    if client in ("codex", "gemini") and scope == "project":
        lines.append(f"{_FORMATS[client].name} reads a project's file only if the project is trusted")
    return [*lines, "to check: " + _FORMATS[client].check.format(name=name)]


def _token_input(variable: str) -> dict[str, Any]:
    description = f"Token for the xkg server (from `xkg token create`), as in {variable}"
    return {"type": "promptString", "id": _TOKEN_INPUT, "description": description, "password": True}
