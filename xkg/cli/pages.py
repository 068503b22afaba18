"""Commands that show a graph in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from xkg.cli.display.output import print_notes, print_text, settings_of


def explore(
    context: typer.Context,
    http: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address of the pages; port 0 means any free port.")
    ] = "127.0.0.1:0",
    browser: Annotated[bool, typer.Option(help="Open the pages in a browser.")] = True,
    save: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            help="Write one page (levels and coverage by paper, mutation scores, costs) to this file instead.",
        ),
    ] = None,
) -> None:
    """Open the graph in a browser: map, papers, techniques next to their code, search, Cypher, builds.

    The pages are also at / of `xkg serve --http`."""
    from xkg.commands import pages

    if save is not None:
        pages.report(settings_of(context), save)
        print_text(f"wrote {save}")
        return
    pages.explore(
        settings_of(context),
        http,
        browser=browser,
        notify=lambda url: print_text(f"pages of the graph: {url} (Ctrl-C ends)"),
        warn=lambda note: print_notes([note]),
    )
