"""Commands for the store: import and export, indexes, generations, the shared store."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from xkg.cli.display.output import Json, Paper, Papers, print_notes, print_result, print_text, settings_of
from xkg.errors import InputError, StoreError

index_app = typer.Typer(help="Check and rebuild the indexes of the graph.")
store_app = typer.Typer(help="Copy, migrate and roll back the stored graph.")


def import_(
    context: typer.Context,
    places: Annotated[
        list[Path],
        typer.Argument(
            readable=False, metavar="PLACE", help="Graph files and folders of them: the peer's JSON, or bundles."
        ),
    ],
    own: Annotated[bool, typer.Option("--own", help="Keep the levels: the bundles are your own exports.")] = False,
    as_json: Json = False,
) -> None:
    """Import graphs built elsewhere; levels that they state count as claims."""
    from xkg.cli.display.steps import steps
    from xkg.commands.graph import contents

    with steps() as notify:
        result = contents.import_graphs(settings_of(context), *places, own=own, notify=notify)
    for problem in result.problems:
        print_text(f"left out: {problem}", err=True)
    print_result(result, as_json)
    if result.problems:
        raise InputError(f"files left out: {len(result.problems)}; correct them, then import again")


def export(
    context: typer.Context,
    papers: Papers = None,
    to: Annotated[
        Path | None,
        typer.Option(
            readable=False, help="Folder to write to; created if missing. For HTML, by default the working folder."
        ),
    ] = None,
    format: Annotated[
        Literal["peer", "bundle", "html", "bibtex", "csl", "graphml"],
        typer.Option(help="The peer's JSON, whole bundles, pages that need no server, BibTeX, CSL-JSON, or GraphML."),
    ] = "peer",
    as_json: Json = False,
) -> None:
    """Write each paper to a file in a folder; BibTeX, CSL-JSON and GraphML hold all in one file."""
    from xkg.commands.graph import contents

    if format == "html":
        from xkg.commands.pages import export_html

        print_result(export_html(settings_of(context), tuple(papers or ()), to or Path()), as_json)
        return
    if to is None:
        raise InputError("name the folder to write to: --to FOLDER")
    print_result(contents.export_graphs(settings_of(context), tuple(papers or ()), to, format), as_json)


def remove(context: typer.Context, paper: Paper) -> None:
    """Remove a paper from the graph (`xkg store rollback` brings it back)."""
    from xkg.commands.graph import contents

    print_result(contents.remove(settings_of(context), paper), as_json=False)


@index_app.command("check")
def index_check(context: typer.Context, as_json: Json = False) -> None:
    """Check every stored file against its checksum."""
    from xkg.commands.graph import contents

    result = contents.check_index(settings_of(context))
    print_result(result, as_json)
    if result.problems:
        raise StoreError(f"problems found: {len(result.problems)}; do what their lines say")


@index_app.command("rebuild")
def index_rebuild(context: typer.Context) -> None:
    """Rebuild graph, vectors and text index from the bundles."""
    from xkg.commands.graph.open import open_store

    with open_store(settings_of(context)) as store:
        generation, notes = store.rebuild()
    print_notes(notes)
    print_text(f"rebuilt; the graph is generation {generation}")


@store_app.command("copy")
def store_copy(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FROM", help="Folder of a graph, or address of a Neo4j.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Folder of a graph, or address of a Neo4j.")],
    as_json: Json = False,
) -> None:
    """Copy all papers of one graph into another, and compare the two.

    An address is bolt://host:7687, neo4j+s://host or similar, with user and password from NEO4J_USERNAME and
    NEO4J_PASSWORD or the file that store.credentials names. Papers that are only in TO stay."""
    from xkg.commands.graph import copy
    from xkg.commands.graph.open import open_store

    settings = settings_of(context)
    with (
        open_store(copy.at(settings, source)) as first,
        open_store(copy.at(settings, target)) as second,
    ):
        result = copy.copy(first, second, lambda papers: print_text(f"  {papers} papers", err=True))
    print_result(result, as_json)


@store_app.command("push")
def store_push(context: typer.Context, as_json: Json = False) -> None:
    """Send papers that were stored locally while the graph's server was unreachable."""
    from xkg.commands.graph import contents

    result = contents.push(settings_of(context))
    for problem in result.problems:
        print_text(f"not sent: {problem}", err=True)
    print_result(result, as_json)
    if result.problems:
        raise StoreError(f"{len(result.problems)} papers were not sent; do what their lines say")


@store_app.command("migrate")
def store_migrate(context: typer.Context) -> None:
    """Migrate a graph on Neo4j to the schema of this version."""
    from xkg.store.neo4j.db.migrations import migrate_graph

    applied = migrate_graph(settings_of(context))
    print_text("\n".join(f"applied {name}" for name in applied) or "the graph has the newest schema")


@store_app.command("rollback")
def store_rollback(context: typer.Context) -> None:
    """Return to the previous generation."""
    from xkg.commands.graph.open import open_store

    with open_store(settings_of(context)) as store:
        generation = store.rollback()
    print_text(f"the graph is generation {generation} again" if generation else "the graph is empty again")
