"""Commands for libraries: push, pull."""

from pathlib import Path
from typing import Annotated

import typer

from xkg.cli.display.output import Json, print_result, print_text, settings_of
from xkg.cli.query import LevelName
from xkg.errors import InputError

Place = Annotated[
    str,
    typer.Argument(
        metavar="PLACE",
        help="A folder, https://…, s3://bucket/folder, git repository, or any other address that fsspec opens.",
    ),
]
OnlyPapers = Annotated[list[str] | None, typer.Option("--paper", help="Id or title of a paper (repeatable).")]
KeptOut = Annotated[Path | None, typer.Option("--blacklist", help="File of repositories and papers to exclude.")]


def push(
    context: typer.Context,
    place: Place,
    papers: OnlyPapers = None,
    claims_only: Annotated[
        bool, typer.Option("--claims-only", help="Push places and definitions, without code.")
    ] = False,
    allow_unlicensed: Annotated[bool, typer.Option("--allow-unlicensed", help="Push code of unknown licence.")] = False,
    blacklist: KeptOut = None,
    as_json: Json = False,
) -> None:
    """Add papers of the graph to a library, from which others pull them.

    A library is a set of static files that any web server can serve. Papers with code of unknown licence are left out;
    then it exits with 1."""
    from xkg.cli.display.steps import steps
    from xkg.commands.library.push import push

    with steps() as notify:
        result = push(
            settings_of(context),
            place,
            tuple(papers or ()),
            claims_only=claims_only,
            allow_unlicensed=allow_unlicensed,
            blacklist=blacklist,
            notify=notify,
        )
    for line in result.left_out:
        print_text(f"left out: {line}", err=True)
    print_result(result, as_json)
    if result.left_out:
        raise InputError(
            f"papers left out: {len(result.left_out)}; --claims-only pushes them without code, --allow-unlicensed with "
            "code of which no licence is known"
        )


def pull(
    context: typer.Context,
    place: Place,
    papers: OnlyPapers = None,
    topic: Annotated[
        str, typer.Option(help="Papers with all these words in their title or the names of their techniques.")
    ] = "",
    level: Annotated[
        LevelName | None, typer.Option(help="Papers with code that is claimed to be of this level or above.")
    ] = None,
    verify: Annotated[
        int, typer.Option(min=0, help="Run this many of the new code nodes first, and pull nothing if one fails.")
    ] = 0,
    blacklist: KeptOut = None,
    as_json: Json = False,
) -> None:
    """Pull new papers from a library: all, or by name, topic or level.

    Levels are claims until a key that you trust attests them (`xkg trust`), or `xkg verify` proves them here. Exits
    with 1 if something could not be pulled."""
    from xkg.cli.display.steps import steps
    from xkg.commands.library.pull import pull
    from xkg.model import Level

    with steps() as notify:
        result = pull(
            settings_of(context),
            place,
            tuple(papers or ()),
            topic=topic,
            level=None if level is None else Level(level),
            verify=verify,
            blacklist=blacklist,
            notify=notify,
        )
    for line in result.problems:
        print_text(f"not taken: {line}", err=True)
    print_result(result, as_json)
    if result.problems:
        raise InputError(f"papers not taken: {len(result.problems)}; the others were")
