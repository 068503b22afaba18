"""Commands that show a graph to people."""

from pathlib import Path
from typing import Annotated

import typer

from xkg.cli.display.output import print_text, settings_of


def explore(
    context: typer.Context,
    http: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address of the pages; port 0 is any that is free.")
    ] = "127.0.0.1:0",
    browser: Annotated[bool, typer.Option(help="Open the pages in a browser.")] = True,
) -> None:
    """Look at the graph in a browser: map, papers, techniques beside their code, search, Cypher, builds.

    The pages are also at / of `xkg serve --http`."""
    from xkg.commands import pages

    pages.explore(
        settings_of(context),
        http,
        browser=browser,
        notify=lambda url: print_text(f"pages of the graph: {url} (Ctrl-C ends)"),
        warn=lambda note: print_text(f"note: {note}", err=True),
    )


def report(
    context: typer.Context,
    to: Annotated[Path, typer.Option(readable=False, help="HTML file to write.")] = Path("report.html"),
) -> None:
    """Write a page on the graph: levels and coverage by paper, mutation scores, costs."""
    from xkg.commands import pages

    pages.report(settings_of(context), to)
    print_text(f"wrote {to}")
