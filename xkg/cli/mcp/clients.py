"""The configuration of MCP clients: the entry for each, its file, and how to check that it works.

Formats as of November 2026: code.claude.com/docs/en/mcp, cursor.com/docs/mcp,
code.visualstudio.com/docs/agents/reference/mcp-configuration, and Codex's `config.toml` (`[mcp_servers.NAME]`).
"""

import json
import os
import re
import shlex
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from xkg.config import plain_url
from xkg.errors import InputError
from xkg.text.address import address

Client = Literal["claude-code", "cursor", "vscode", "codex"]
CLIENTS: tuple[Client, ...] = get_args(Client)
Scope = Literal["project", "user"]

TOKEN_VARIABLE = "XKG_TOKEN"
_TOKEN_INPUT = "xkg-token"
_SERVERS: Mapping[Client, str] = {
    "claude-code": "mcpServers",
    "cursor": "mcpServers",
    "vscode": "servers",
    "codex": "mcp_servers",
}


@dataclass(frozen=True)
class Local:
    """A server that the client starts itself, over stdio."""

    command: Sequence[str]


@dataclass(frozen=True)
class Remote:
    """A server at an address. `token` names the environment variable that holds the caller's token, None where none is
    needed: a token itself is never written to a file."""

    url: str
    token: str | None


@dataclass(frozen=True)
class Entry:
    """The entry for a client's file: `server` under `name` in the table `servers`, and `inputs`, which VS Code asks the
    user for."""

    servers: str
    name: str
    server: Mapping[str, Any]
    inputs: Sequence[Mapping[str, Any]] = ()


def local(kg: Path, allowed: Sequence[str] = ()) -> Local:
    """This installation over the graph in `kg`, by absolute paths; `allowed` are options of `xkg serve`. Raises
    `InputError` for a path that clients would interpret."""
    command = [*own_command(), "--kg", str(kg.expanduser().absolute()), "serve", *allowed]
    for part in command:
        if "${" in part or not part.isprintable():
            raise InputError(f"{part!a} means something else to clients: give a folder with a plainer name")
    return Local(command)


def remote(url: str, token: str | None) -> Remote:
    """A server at `url`. `token` None is XKG_TOKEN for an address of another machine, and none for this one. Raises
    `InputError`."""
    try:
        place = address(plain_url(url))
    except ValueError:
        raise InputError(f"{url[:200]!a} is no address: give https://HOST/mcp, without user or password") from None
    if "${" in url:
        raise InputError(f"{url[:200]!a} means something else to clients: write the address out")
    here = place.is_loopback
    if not here and place.scheme != "https":
        raise InputError(f"{url} would send tokens and answers in the clear: give a https address")
    if token is not None and not re.fullmatch(r"(?!xkg_)[A-Za-z_][A-Za-z0-9_]{0,99}", token):
        raise InputError("--token-env takes the name of an environment variable, such as XKG_TOKEN, never a token")
    return Remote(url, token if token is not None or here else TOKEN_VARIABLE)


def own_command() -> list[str]:
    """The command that starts this installation from any folder."""
    script = Path(sysconfig.get_path("scripts")) / "xkg"
    if os.access(script, os.X_OK):
        return [str(script)]
    # -P: nothing is imported from the folder that a client starts servers in.
    root = str(Path(__file__).resolve().parents[3])
    return [sys.executable, "-P", "-c", f"import sys; sys.path.append({root!r}); from xkg.cli.main import main; main()"]


def entry(client: Client, server: Local | Remote, name: str = "xkg") -> Entry:
    """Raises `InputError` for a name that not every client takes."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,39}", name):
        raise InputError(f"{name[:80]!a} is no name for a server: use up to 40 letters, digits, - and _")
    servers = _SERVERS[client]
    match server:
        case Local(command):
            # Cursor and Codex tell the kinds apart by their fields.
            kind = {"type": "stdio"} if client in ("claude-code", "vscode") else {}
            return Entry(servers, name, {**kind, "command": command[0], "args": list(command[1:])})
        case Remote(url, token):
            if client == "codex":
                return Entry(servers, name, {"url": url, **({"bearer_token_env_var": token} if token else {})})
            kind = {} if client == "cursor" else {"type": "http"}
            fields: dict[str, Any] = {**kind, "url": url}
            if token is not None:
                fields["headers"] = {"Authorization": f"Bearer {_reference(client, token)}"}
            inputs = [_token_input(token)] if token is not None and client == "vscode" else []
            return Entry(servers, name, fields, inputs)


def file_of(client: Client, scope: Scope, project: Path) -> Path:
    """The file that holds the servers of a project, or of its user. Raises `InputError` where only the client may write
    it."""
    match client, scope:
        case "claude-code", "project":
            return project / ".mcp.json"
        case "claude-code", "user":
            raise InputError(
                "Claude Code keeps its user's servers in a file that it writes itself: run the command that "
                "`xkg mcp install claude-code --scope user` prints"
            )
        case "cursor", _:
            return (project if scope == "project" else Path.home()) / ".cursor" / "mcp.json"
        case "vscode", "project":
            return project / ".vscode" / "mcp.json"
        case "vscode", _:
            return _vscode_user() / "mcp.json"
        case _, "project":
            return project / ".codex" / "config.toml"
        case _:
            return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"


def skill_of(client: Client, scope: Scope, project: Path) -> Path:
    """The file of the skill that explains builds: Claude Code has a folder of its own, others share one."""
    root = project if scope == "project" else Path.home()
    return root / (".claude" if client == "claude-code" else ".agents") / "skills" / "xkg-build" / "SKILL.md"


def add_command(client: Client, wanted: Entry) -> str | None:
    """The client's own command that adds the entry for a user; None where there is none."""
    if client != "claude-code":
        return None
    return shlex.join(["claude", "mcp", "add-json", "--scope", "user", wanted.name, json.dumps(wanted.server)])


def advice(client: Client, scope: Scope, server: Local | Remote, name: str) -> list[str]:
    """What the user is to do next, and how to check that it works: a line each."""
    lines = []
    if isinstance(server, Remote) and server.token is not None:
        if client == "vscode":
            lines.append("VS Code asks for the token when it starts the server, and keeps it in its secret storage")
        else:
            lines.append(f"the token is read from {server.token}: set it where the client is started")
        lines.append("who runs the server makes a token with `xkg token create NAME`")
    if isinstance(server, Local) and scope == "project":
        lines.append("the file holds paths of this machine: others who share it need their own")
    if client == "codex" and scope == "project":
        lines.append("Codex reads the file of a project only where the project is trusted")
    return [*lines, "to check: " + _CHECK[client].format(name=name)]


_CHECK: Mapping[Client, str] = {
    "claude-code": "`claude mcp get {name}`; or start claude, approve the server and type /mcp",
    "cursor": "restart Cursor, switch {name} on under Customize, MCPs; or `agent mcp list-tools {name}`",
    "vscode": "run `MCP: List Servers` in the command palette, and start {name}",
    "codex": "`codex mcp list`; or start codex and type /mcp",
}


def _reference(client: Client, variable: str) -> str:
    """VS Code does not fill in variables of the environment in headers (microsoft/vscode#336232): it asks."""
    return {
        "claude-code": f"${{{variable}}}",
        "cursor": f"${{env:{variable}}}",
        "vscode": f"${{input:{_TOKEN_INPUT}}}",
    }[client]


def _token_input(variable: str) -> dict[str, Any]:
    description = f"Token of the xkg server (xkg token create), as in {variable}"
    return {"type": "promptString", "id": _TOKEN_INPUT, "description": description, "password": True}


def _vscode_user() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Code" / "User"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "Code" / "User"
