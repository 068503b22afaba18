"""Implements `xkg mcp`, which configures MCP clients for this server."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from xkg.cli.command import command
from xkg.errors import InputError

if TYPE_CHECKING:
    from xkg.config import Settings

mcp_app = typer.Typer(help="Configure agents and editors to use this graph.")

ClientName = Literal[
    "claude-code", "claude-desktop", "cline", "codex", "cursor", "gemini", "opencode", "vscode", "windsurf", "zed"
]
_NAMES = get_args(ClientName)


@mcp_app.callback()
def _group() -> None:
    # Without this callback, Typer would replace a single-command group with its command.
    """Configure agents and editors to use this graph."""


@mcp_app.command("install")
@command()
def install(
    settings: "Settings",
    client: Annotated[
        ClientName, typer.Argument(help=f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}.", show_choices=False)
    ],
    scope: Annotated[
        Literal["project", "user"] | None,
        typer.Option(help="Configure one project (default, if the client has project files) or all your projects."),
    ] = None,
    project: Annotated[
        Path | None, typer.Option(readable=False, help="Folder of the project (default: the working folder).")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Address of a running server, https://HOST/mcp; by default the client starts one."),
    ] = None,
    token_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Environment variable that contains your token [XKG_TOKEN for other machines]."
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="Name for this server in the client's configuration.")] = "xkg",
    allow_build: Annotated[
        bool, typer.Option("--allow-build", help="Let the client build papers (xkg serve --allow-build).")
    ] = False,
    allow_agents: Annotated[
        bool,
        typer.Option("--allow-agents", help="Let the client start `implement` jobs (xkg serve --allow-agents)."),
    ] = False,
    allow_run: Annotated[
        bool, typer.Option("--allow-run", help="Let the client run scripts in the sandbox (xkg serve --allow-run).")
    ] = False,
    skill: Annotated[
        bool,
        typer.Option("--skill", help="Also install a skill for answering a build's questions. Implies --allow-build."),
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write to the client's file instead of printing.")] = False,
) -> None:
    """Print or write a client's configuration for this graph.

    Other entries in an existing file are kept, and a file that cannot be parsed is not edited. A second run changes
    nothing."""
    from xkg.cli.mcp import clients, config

    scope = scope or clients.default_scope(client)
    options = {
        "--allow-build": allow_build or (skill and url is None),
        "--allow-agents": allow_agents,
        "--allow-run": allow_run,
    }
    allowed = [option for option, is_given in options.items() if is_given]
    if url is not None and allowed:
        raise InputError(
            f"{allowed[0]} applies only to a server that the client starts; with --url, its operator decides"
        )
    if url is None and token_env is not None:
        raise InputError("--token-env requires --url: a server that the client starts needs no token")
    server = clients.local(settings.kg, allowed) if url is None else clients.remote(url, token_env)
    folder = (project or Path()).expanduser().absolute()
    if scope == "project" and not folder.is_dir():
        raise InputError(f"{folder} is not a folder; pass a project's folder, or --scope user")
    wanted = clients.entry(client, server, name)
    command = clients.add_command(client, wanted) if scope == "user" else None
    if write:
        path = clients.file_of(client, scope, folder)
        done, backup = config.put(path, wanted, folder if scope == "project" else None)
        typer.echo(
            f"{path}: {_OUTCOMES[done].format(name=name)}{f'; the backup of the file is {backup}' if backup else ''}"
        )
    elif command is not None:
        typer.echo(command)
    else:
        path = clients.file_of(client, scope, folder)
        typer.echo(config.rendered(wanted, path.suffix), nl=False)
        typer.echo(f"add this to {path}, or pass --write", err=True)
    if skill:
        _skill(clients.skill_of(client, scope, folder), folder if scope == "project" else None, write=write)
    notes = clients.advice(client, scope, server, name)
    for line in [*(_left_behind(settings) if url is None else []), *notes]:
        typer.echo(line, err=True)


def _skill(path: Path, within: Path | None, *, write: bool) -> None:
    from xkg.cli.mcp import config
    from xkg.serve.protocol.prompts import SKILL

    if not write:
        typer.echo(SKILL, nl=False)
        typer.echo(f"add this to {path}, or pass --write", err=True)
        return
    typer.echo(f"{path}: {'made' if config.put_skill(path, SKILL, within) else 'is there already'}")


_OUTCOMES = {
    "created": "created, with the server {name}",
    "added": "the server {name} was added",
    "replaced": "the server {name} was replaced",
    "unchanged": "already has the server {name}; nothing was changed",
}


def _left_behind(settings: "Settings") -> list[str]:
    """Returns notes about how the environment in which a client starts the server may differ from this one."""
    lines = []
    if not settings.kg.is_dir():
        lines.append(f"note: there is no graph in {settings.kg.absolute()} yet")
    if Path("xkg.yaml").is_file():
        lines.append("note: the server reads xkg.yaml from the folder in which it starts, which may not be this one")
    names = sorted(variable for variable in os.environ if variable.startswith("XKG_") and variable != "XKG_KG")
    if names:
        lines.append(f"note: if these variables matter, set them in the client's environment too: {', '.join(names)}")
    return lines
