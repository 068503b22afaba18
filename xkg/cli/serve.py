"""Implements the commands that serve a graph and check the installation: serve, explore and doctor."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from xkg.cli.command import command
from xkg.cli.display.output import print_notes, print_text

if TYPE_CHECKING:
    from xkg.commands.doctor import Report
    from xkg.config import Settings


@command(
    allow_build="Let callers build papers; over HTTP, their token needs the build scope.",
    allow_agents="Let callers start `implement` jobs; over HTTP, their token needs the agents scope.",
    allow_run="Let callers run scripts in the sandbox; over HTTP, their token needs the run scope.",
)
def serve(
    settings: "Settings",
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve over HTTP at this address instead of stdin and stdout."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of server processes.")] = 1,
    libraries: Annotated[
        list[str] | None, typer.Option("--library", metavar="PLACE", help="Library to pull from (repeatable).")
    ] = None,
    every: Annotated[float, typer.Option(min=1, help="Minutes between pulls from libraries.")] = 60,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option(help="Log level of the HTTP server; debug also logs contents."),
    ] = "info",
) -> None:
    """Serve the graph to agents over MCP (stdio or HTTP).

    To serve other machines, require tokens: `xkg token create`, or serve.oauth."""
    from xkg.commands.library.follow import following
    from xkg.commands.serve import http_app, serve_stdio

    with following(settings, libraries or (), every):
        if http is not None:
            from xkg.serve.http.run import serve_http

            serve_http(settings, http, http_app, workers, log_level)
        else:
            serve_stdio(settings)


@command()
def explore(
    settings: "Settings",
    http: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address to serve the pages at; port 0 means any free port.")
    ] = "127.0.0.1:0",
    browser: Annotated[bool, typer.Option(help="Open the pages in a browser.")] = True,
    save: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            help="Write a single page (levels and coverage by paper, mutation scores, costs) to this file instead.",
        ),
    ] = None,
) -> None:
    """Open the graph in a browser: map, papers, techniques next to their code, search, Cypher, builds.

    `xkg serve --http` serves the same pages at /."""
    from xkg.commands import pages

    if save is not None:
        pages.report(settings, save)
        print_text(f"wrote {save}")
        return
    pages.explore(
        settings,
        http,
        browser=browser,
        notify=lambda url: print_text(f"serving the graph's pages at {url} (press Ctrl-C to stop)"),
        warn=lambda note: print_notes([note]),
    )


@command()
def doctor(settings: "Settings") -> "Report":
    """Check which parts are installed and reachable, and which are missing."""
    from xkg.commands.doctor import examine

    return examine(settings)
