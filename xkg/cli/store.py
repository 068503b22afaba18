"""Implements the commands for stored graphs, which import, export, push, pull, compare and remove papers, and manage
indexes, generations and the shared store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from xkg.cli.command import command
from xkg.cli.display.output import Paper, Papers, print_notes, print_text
from xkg.cli.query import LevelName
from xkg.errors import InputError

if TYPE_CHECKING:
    from xkg.commands.graph.contents import ExportResult, ImportResult, IndexReport, PushResult, RemoveResult
    from xkg.commands.graph.copy import CopyResult
    from xkg.commands.graph.diff import DiffResult
    from xkg.commands.library.pull import PulledPapers
    from xkg.commands.library.push import PushedPapers
    from xkg.config import Settings

index_app = typer.Typer(help="Check and rebuild the indexes of the graph.")
store_app = typer.Typer(help="Copy, migrate and roll back the stored graph.")
Place = Annotated[
    str,
    typer.Argument(
        metavar="PLACE",
        help="A folder, https://…, s3://bucket/folder, git repository, or any other address supported by fsspec.",
    ),
]
OnlyPapers = Annotated[list[str] | None, typer.Option("--paper", help="Id or title of a paper (repeatable).")]
Excluded = Annotated[
    Path | None, typer.Option("--blacklist", help="File that lists repositories and papers to exclude.")
]


@command()
def import_(
    settings: "Settings",
    places: Annotated[
        list[Path],
        typer.Argument(
            readable=False,
            metavar="PLACE",
            help="Graph files or folders of them: JSON in the peer format, or bundles.",
        ),
    ],
    own: Annotated[
        bool, typer.Option("--own", help="Keep the levels, since the bundles are your own exports.")
    ] = False,
) -> "ImportResult":
    """Import graphs built elsewhere; their levels become claims."""
    from xkg.cli.display.live import steps
    from xkg.commands.graph.contents import import_graphs

    with steps() as notify:
        return import_graphs(settings, *places, own=own, notify=notify)


@command()
def export(
    settings: "Settings",
    papers: Papers = None,
    to: Annotated[
        Path | None,
        typer.Option(
            readable=False, help="Folder to write to; created if missing. For HTML, by default the working folder."
        ),
    ] = None,
    format: Annotated[
        Literal["peer", "bundle", "html", "bibtex", "csl", "graphml"],
        typer.Option(help="Format: peer-format JSON, bundles, standalone HTML pages, BibTeX, CSL-JSON or GraphML."),
    ] = "peer",
) -> "ExportResult":
    """Write each paper to a file in a folder; BibTeX, CSL-JSON and GraphML write all papers to one file."""
    from xkg.commands.graph.contents import export_graphs

    if to is None and format != "html":
        raise InputError("specify the folder to write to: --to FOLDER")
    return export_graphs(settings, papers or (), to or Path(), format)


@command()
def push(
    settings: "Settings",
    place: Place,
    papers: OnlyPapers = None,
    claims_only: Annotated[
        bool, typer.Option("--claims-only", help="Push only definitions and code locations, not the code itself.")
    ] = False,
    allow_unlicensed: Annotated[
        bool, typer.Option("--allow-unlicensed", help="Push code whose licence is unknown.")
    ] = False,
    blacklist: Excluded = None,
) -> "PushedPapers":
    """Add papers from the graph to a library, so that others can pull them.

    A library is a set of static files that any web server can serve. Papers whose code has an unknown licence are not
    pushed; if there are any, the exit code is 1."""
    from xkg.cli.display.live import steps
    from xkg.commands.library.push import push

    with steps() as notify:
        return push(
            settings,
            place,
            papers or (),
            claims_only=claims_only,
            allow_unlicensed=allow_unlicensed,
            blacklist=blacklist,
            notify=notify,
        )


@command()
def pull(
    settings: "Settings",
    place: Place,
    papers: OnlyPapers = None,
    topic: Annotated[
        str, typer.Option(help="Only papers with all these words in their title or technique names.")
    ] = "",
    level: Annotated[
        LevelName | None, typer.Option(help="Only papers with code claimed to be at this level or above.")
    ] = None,
    verify: Annotated[
        int, typer.Option(min=0, help="First run this many of the new code nodes, and pull nothing if one fails.")
    ] = 0,
    blacklist: Excluded = None,
) -> "PulledPapers":
    """Pull new papers from a library: all papers, or a selection by name, topic or level.

    Levels are claims until a key that you trust attests them (`xkg trust`), or `xkg verify` proves them here. The exit
    code is 1 if something could not be pulled."""
    from xkg.cli.display.live import steps
    from xkg.commands.library.pull import pull
    from xkg.model import Level

    minimum = None if level is None else Level(level)
    with steps() as notify:
        return pull(
            settings,
            place,
            papers or (),
            topic=topic,
            level=minimum,
            verify=verify,
            blacklist=blacklist,
            notify=notify,
        )


@command()
def diff(
    settings: "Settings",
    first: Annotated[str | None, typer.Argument(help="Generation, paper, or folder of exported bundles.")] = None,
    second: Annotated[str | None, typer.Argument(help="The newer state (default: the current graph).")] = None,
    library: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Compare your version of the paper with this library's version.")
    ] = None,
) -> "DiffResult":
    """Compare the techniques, code locations and levels of two generations, two papers, or exported bundles.

    Without arguments, compares the current generation with the previous one."""
    from xkg.commands.graph.diff import diff

    return diff(settings, first, second, library=library)


@command()
def remove(settings: "Settings", paper: Paper) -> "RemoveResult":
    """Remove a paper from the graph (`xkg store rollback` brings it back)."""
    from xkg.commands.graph.contents import remove

    return remove(settings, paper)


@index_app.command("check")
@command()
def index_check(settings: "Settings") -> "IndexReport":
    """Check every stored file against its checksum."""
    from xkg.commands.graph.contents import check_index

    return check_index(settings)


@index_app.command("rebuild")
@command()
def index_rebuild(settings: "Settings") -> str:
    """Rebuild the graph, the vectors and the text index from the bundles."""
    from xkg.commands.graph.open import open_store

    with open_store(settings) as store:
        generation, notes = store.rebuild()
    print_notes(notes)
    return f"rebuilt; the graph is generation {generation}"


@store_app.command("copy")
@command()
def store_copy(
    settings: "Settings",
    source: Annotated[str, typer.Argument(metavar="FROM", help="Folder of a graph, or address of a Neo4j server.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Folder of a graph, or address of a Neo4j server.")],
) -> "CopyResult":
    """Copy all papers from one graph into another, and compare the two graphs.

    An address is bolt://host:7687, neo4j+s://host or similar. User and password come from NEO4J_USERNAME and
    NEO4J_PASSWORD, or from the file set in store.credentials. Papers that exist only in TO are kept."""
    from xkg.commands.graph import copy
    from xkg.commands.graph.open import open_store

    with open_store(copy.at(settings, source)) as first, open_store(copy.at(settings, target)) as second:
        return copy.copy(first, second, lambda papers: print_text(f"  {papers} papers", err=True))


@store_app.command("push")
@command()
def store_push(settings: "Settings") -> "PushResult":
    """Send papers that were stored locally while the graph's server was unreachable."""
    from xkg.commands.graph.contents import push

    return push(settings)


@store_app.command("migrate")
@command()
def store_migrate(settings: "Settings") -> str:
    """Migrate a graph on Neo4j to the schema of this version."""
    from xkg.store.neo4j.db.migrations import migrate_graph

    return "\n".join(f"applied {name}" for name in migrate_graph(settings)) or "the schema is already up to date"


@store_app.command("rollback")
@command()
def store_rollback(settings: "Settings") -> str:
    """Return to the previous generation."""
    from xkg.commands.graph.open import open_store

    with open_store(settings) as store:
        generation = store.rollback()
    return f"the graph is generation {generation} again" if generation else "the graph is empty again"
