"""Commands of this installation: serve the graph, and check what is missing."""

from typing import Annotated, Literal

import typer

from xkg.cli.display.output import Json, print_result, settings_of


def serve(
    context: typer.Context,
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve over HTTP at this address instead of stdin and stdout."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of server processes.")] = 1,
    allow_build: Annotated[
        bool,
        typer.Option("--allow-build", help="Let callers build papers; over HTTP their token needs the scope build."),
    ] = False,
    allow_agents: Annotated[
        bool,
        typer.Option(
            "--allow-agents",
            help="Let callers start `implement` jobs; over HTTP their token needs the scope agents.",
        ),
    ] = False,
    allow_run: Annotated[
        bool,
        typer.Option(
            "--allow-run",
            help="Let callers run scripts in the sandbox; over HTTP their token needs the scope run.",
        ),
    ] = False,
    libraries: Annotated[
        list[str] | None, typer.Option("--library", metavar="PLACE", help="Library to pull from (repeatable).")
    ] = None,
    every: Annotated[float, typer.Option(min=1, help="Minutes between two pulls from libraries.")] = 60,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option(help="Log level over HTTP; debug includes contents."),
    ] = "info",
) -> None:
    """Serve the graph to agents over MCP (stdio or HTTP).

    To serve other machines, require tokens: `xkg token create`, or serve.oauth."""
    from xkg.commands.library.follow import following
    from xkg.commands.serve import http_app, serve_stdio

    allowed = {"build": allow_build, "agents": allow_agents, "run": allow_run}
    given: dict[str, object] = {name: {"allowed": True} for name, is_allowed in allowed.items() if is_allowed}
    if context.obj["more"]:
        given["graphs"] = tuple(context.obj["more"])
    settings = settings_of(context, serve=given or None)
    with following(settings, libraries or (), every):
        if http is not None:
            from xkg.serve.http.run import serve_http

            serve_http(settings, http, http_app, workers, log_level)
        else:
            serve_stdio(settings)


def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Check what is installed and reachable, and what is missing."""
    from xkg.commands.doctor import examine

    print_result(examine(settings_of(context)), as_json)
