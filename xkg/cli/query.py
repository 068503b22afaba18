"""Implements the commands that query a graph."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from xkg.cli import completion
from xkg.cli.command import command
from xkg.cli.display.output import Json, Paper, in_commands, json_of, print_answer, print_text

if TYPE_CHECKING:
    from xkg.config import Settings
    from xkg.serve.answers.types import LocateAnswer
    from xkg.serve.context.context import ContextAnswer
    from xkg.serve.service import Service

LevelName = Literal["claimed", "parsed", "imported", "executed", "tested", "faithful"]
"""A copy of the levels in `xkg.model.Level` that code can have, because importing that module takes 0.1 s."""

InPapers = Annotated[
    list[str] | None,
    typer.Option("--paper", help="Search only this paper (repeatable).", autocompletion=completion.papers),
]
FirstYear = Annotated[int | None, typer.Option(help="Only papers from this year or later.")]
LastYear = Annotated[int | None, typer.Option(help="Only papers from this year or earlier.")]
WithCode = Annotated[bool, typer.Option("--with-code", help="Only techniques with code; also print the code.")]
Exclude = Annotated[list[str] | None, typer.Option(help="Id of a paper, technique or code to exclude (repeatable).")]


@command()
def papers(
    service: "Service",
    text: Annotated[
        list[str] | None, typer.Argument(help="Words in the title, id or authors; if omitted, lists all papers.")
    ] = None,
    first_year: FirstYear = None,
    last_year: LastYear = None,
    with_code: Annotated[bool, typer.Option("--with-code", help="Only papers with code.")] = False,
    tested: Annotated[bool, typer.Option("--tested", help="Only papers with code that is tested or faithful.")] = False,
    field: Annotated[str, typer.Option(help="Only papers in this arXiv domain or subfield, such as cs or cs.LG.")] = "",
    state: Annotated[
        Literal["complete", "partial"] | None,
        typer.Option(help="Only papers whose build is in this state."),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Maximum number of papers.")] = 1000,
    as_json: Json = False,
) -> None:
    """List papers with their id, title, year, and number of techniques, techniques with code, and tested techniques.

    Every command accepts these ids and titles, and technique names that occur in only one paper."""
    from xkg.cli.display.tables import paper_table
    from xkg.model import Level
    from xkg.serve.answers.paper_list import PaperFilters

    filters = PaperFilters(
        " ".join(text or ()), (first_year, last_year), with_code, Level.TESTED if tested else None, state, field=field
    )
    answer = service.list_papers(k, filters)
    if as_json:
        print_answer(answer, as_json, service)
    else:
        print_text(paper_table(answer, service.short_papers([row.id for row in answer.rows])))


@command()
def search(
    service: "Service",
    query: Annotated[list[str], typer.Argument(help="What the code should do, or the name of a technique.")],
    task: Annotated[
        bool,
        typer.Option(
            "--task", help="Treat the query as a whole task, and let the language model find code for each part."
        ),
    ] = False,
    k: Annotated[
        int | None, typer.Option("-k", min=1, max=100, help="Maximum number of rows (5; 2 for each part of a task).")
    ] = None,
    paper: InPapers = None,
    with_code: WithCode = False,
    first_year: FirstYear = None,
    last_year: LastYear = None,
    level: Annotated[LevelName | None, typer.Option(help="Only code at this level or above.")] = None,
    package: Annotated[
        list[str] | None, typer.Option(help="Only code that requires this package (repeatable).")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Only code in this language.")] = None,
    attested_by: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Only code whose level is attested by the trusted key with this name."),
    ] = None,
    exclude: Exclude = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Let the language model drop rows that do not fit, and explain how to apply the others.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Find techniques, best first; if nothing fits, list the closest.

    With --task, a language model splits a task into parts, drops results that do not help, and says how to apply the
    remaining results."""
    from xkg.serve.search.filters import Filters

    filters = Filters.of(
        papers=tuple(paper or ()),
        years=(first_year, last_year),
        level=level,
        packages=tuple(package or ()),
        language=language,
        attested_by=attested_by,
        exclude=tuple(exclude or ()),
        with_code=with_code,
    )
    if task:
        found = service.find_implementations(" ".join(query), k or 2, filters=filters, full=with_code)
        print_answer(found, as_json, service)
        return
    answer = service.search(" ".join(query), k or 5, filters=filters, verify=verify)
    implementations = [service.code(row.id, full=as_json) for row in answer.rows] if with_code else []
    if as_json:
        codes = [code.model_dump() for code in implementations]
        print_text(json_of({**in_commands(answer).model_dump(), "implementations": codes}))
        return
    for each in (answer, *implementations):
        print_answer(each, as_json, service)


@command()
def show(
    service: "Service",
    id: Annotated[
        str,
        typer.Argument(
            help="Id or name of a paper or technique, or id of a code node.", autocompletion=completion.nodes
        ),
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="Also show references, files, the code overview and all descriptions.")
    ] = False,
    related: Annotated[
        bool,
        typer.Option(
            "--related", help="Show related papers instead, by citation, shared concepts or similar techniques."
        ),
    ] = False,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="Maximum number of related papers.")] = 10,
    exclude: Exclude = None,
    as_json: Json = False,
) -> None:
    """Show a paper, technique or code node."""
    from xkg.commands.graph import contents

    if related:
        print_answer(service.related(id, k, tuple(exclude or ())), as_json, service)
        return
    print_answer(contents.show(service, id, everything=everything or as_json), as_json, service)


@command()
def context(
    service: "Service",
    paper: Paper,
    budget: Annotated[int, typer.Option(min=1, help="Maximum number of tokens (four characters each).")] = 2000,
    view: Annotated[
        Literal["planning", "implementation"],
        typer.Option(help="Purpose: planning (no code) or implementation (techniques with their code)."),
    ] = "planning",
    include: Annotated[
        list[str] | None,
        typer.Option(
            help="Kind of node to include (repeatable): paper, techniques, code, repositories, findings, resources, "
            "related."
        ),
    ] = None,
    code: Annotated[
        Literal["raw", "rewritten", "verified"],
        typer.Option(
            help="Use source lines from the repository, all code nodes, or only code nodes whose test has run."
        ),
    ] = "rewritten",
    repo: Annotated[Path | None, typer.Option(help="Clone of the paper's repository, needed for raw code.")] = None,
) -> "ContextAnswer":
    """Print a paper as Markdown for a prompt, within a token budget; the last line lists omissions."""
    # The service rejects unknown kinds of nodes.
    return service.context(paper, budget, view, include=include, code=code, repository=repo)  # type: ignore[arg-type]


@command()
def locate(
    service: "Service",
    technique: Annotated[
        list[str],
        typer.Argument(help="Technique id or name, or what the code should do.", autocompletion=completion.nodes),
    ],
    repo: Annotated[
        Path | None, typer.Option(help="Folder with a clone of a repository, with or without local changes.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="Maximum number of matches.")] = 10,
) -> "LocateAnswer":
    """Find the lines that implement a technique. Each match is rated certain, doubtful or weak."""
    return service.locate(" ".join(technique), repo, k)


@command()
def cypher(
    settings: "Settings",
    query: Annotated[
        str | None,
        typer.Argument(
            help="Name of a query listed by --list, or one read-only statement.", autocompletion=completion.queries
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the named queries (with --json, in full).")] = False,
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Value of a parameter (repeatable).")
    ] = None,
    format: Annotated[Literal["table", "json", "csv"], typer.Option(help="Output format for the rows.")] = "table",
    rows: Annotated[int, typer.Option(min=1, help="Maximum number of rows.")] = 1000,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time limit in seconds.")] = 30,
    as_json: Json = False,
) -> None:
    """Run a named query, or read-only Cypher.

    In your own statements, --param values are parsed as JSON if possible; otherwise, they are strings. "2" in quotes is
    a string. Nodes: Paper, Technique, Code, Symbol, Repository, Finding, Resource. Edges: PROPOSES, HAS_COMPONENT,
    IMPLEMENTED_BY, LOCATED_AT, DERIVED_FROM, HAS_REPOSITORY, DEFINES, CITES, SAME_CONCEPT, REPORTS, RELEASES."""
    from xkg.cli.display import tables
    from xkg.cli.display.layout import UNBOUNDED, width
    from xkg.commands.graph.open import open_store
    from xkg.serve.answers.query_parameters import with_paper_ids
    from xkg.store.cypher import named_queries

    shown = "json" if as_json else format
    if listed:
        typer.echo(tables.query_list(named_queries.queries(), shown), nl=False)
        return
    if query is None:
        raise typer.BadParameter("pass a query's name or a statement; `xkg cypher --list` lists the names")
    values = _values(param or (), typed=not named_queries.is_name(query))
    with open_store(settings) as store, store.snapshot() as snapshot:
        known = with_paper_ids(store, snapshot, query, values, seconds)
        statement, parameters = named_queries.prepare(query, known, named_queries.engine(settings.store))
        table = store.query(statement, parameters, rows=rows, seconds=seconds)
        short = tables.short_ids_in(table, snapshot) if shown == "table" and width() < UNBOUNDED else {}
    typer.echo(tables.render(table, shown, short), nl=False)
    if table.truncated:
        typer.echo(f"only the first {len(table.rows)} rows are shown; use --rows for more", err=True)


def _values(options: Sequence[str], *, typed: bool) -> dict[str, Any]:
    """Parses `name=value` parameters. If `typed` is set, parses the values as JSON."""
    from xkg.store.cypher.named_queries import plain

    values: dict[str, Any] = {}
    for each in options:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"--param {each[:80]}: write NAME=VALUE")
        if name.strip() in values:
            raise typer.BadParameter(f"--param {name.strip()} was passed twice; a list is a single value, such as a,b")
        values[name.strip()] = plain(value) if typed else value
    return values
