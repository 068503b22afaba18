"""Commands that ask a graph."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from xkg.cli import completion
from xkg.cli.display.output import (
    Json,
    Paper,
    in_commands,
    json_of,
    present,
    print_answer,
    print_result,
    print_text,
    settings_of,
)

LevelName = Literal["parsed", "imported", "executed", "tested", "faithful"]
"""The levels of `xkg.model.Level` that code can have; importing that takes a tenth of a second."""

InPapers = Annotated[
    list[str] | None,
    typer.Option("--paper", help="Search only this paper (repeatable).", autocompletion=completion.papers),
]
FirstYear = Annotated[int | None, typer.Option(help="Only papers of this year or later.")]
LastYear = Annotated[int | None, typer.Option(help="Only papers of this year or earlier.")]
WithCode = Annotated[bool, typer.Option("--with-code", help="Only techniques with code, and the code of each.")]
Exclude = Annotated[list[str] | None, typer.Option(help="Id of a paper, technique or code to leave out (repeatable).")]


def papers(
    context: typer.Context,
    text: Annotated[list[str] | None, typer.Argument(help="Words of title, id or authors; none lists all.")] = None,
    first_year: FirstYear = None,
    last_year: LastYear = None,
    with_code: Annotated[bool, typer.Option("--with-code", help="Only papers with code.")] = False,
    tested: Annotated[bool, typer.Option("--tested", help="Only papers with code that is tested or faithful.")] = False,
    field: Annotated[
        str, typer.Option(help="Only papers of this domain or subfield of arXiv, such as cs or cs.LG.")
    ] = "",
    state: Annotated[
        Literal["complete", "partial"] | None, typer.Option(help="Only papers whose build is complete, or is not.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="At most so many papers.")] = 1000,
    as_json: Json = False,
) -> None:
    """List the papers of the graph: id, title, year, and how many techniques have code and tested code.

    Every command takes the ids that stand there, titles, and names of techniques that only one paper has."""
    from xkg.cli.display.papers import paper_table
    from xkg.commands.graph.open import open_service
    from xkg.model import Level
    from xkg.serve.answers.paper_list import PaperFilters

    filters = PaperFilters(
        " ".join(text or ()), (first_year, last_year), with_code, Level.TESTED if tested else None, state, field=field
    )
    with open_service(settings_of(context)) as service:
        answer = service.list_papers(k, filters)
        if as_json:
            print_answer(answer, as_json)
        else:
            print_text(paper_table(answer, service.short_papers([row.id for row in answer.rows])))


def search(
    context: typer.Context,
    query: Annotated[list[str], typer.Argument(help="What the code should do, or the name of a technique.")],
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many rows.")] = 5,
    paper: InPapers = None,
    with_code: WithCode = False,
    first_year: FirstYear = None,
    last_year: LastYear = None,
    level: Annotated[LevelName | None, typer.Option(help="Only code of this level or a higher one.")] = None,
    package: Annotated[list[str] | None, typer.Option(help="Only code that needs this package (repeatable).")] = None,
    language: Annotated[str | None, typer.Option(help="Only code in this language.")] = None,
    exclude: Exclude = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Let the language model drop what does not serve, and say how to apply.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find techniques, best first, and name the nearest if nothing fits."""
    from xkg.commands.graph.open import open_service
    from xkg.serve.search.filters import Filters

    filters = Filters.of(
        papers=tuple(paper or ()),
        years=(first_year, last_year),
        level=level,
        packages=tuple(package or ()),
        language=language,
        exclude=tuple(exclude or ()),
        with_code=with_code,
    )
    with open_service(settings_of(context)) as service:
        answer = service.search(" ".join(query), k, filters=filters, verify=verify)
        implementations = [service.code(row.id, full=as_json) for row in answer.rows] if with_code else []
        if as_json:
            codes = [code.model_dump() for code in implementations]
            typer.echo(json_of({**in_commands(answer).model_dump(), "implementations": codes}))
            return
        print_answer(answer, as_json, service)
        for each in implementations:
            print_answer(each, as_json, service)


def find(
    context: typer.Context,
    task: Annotated[list[str], typer.Argument(help="What is to be implemented, in your own words.")],
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="How many rows for one part of it.")] = 2,
    paper: InPapers = None,
    with_code: WithCode = False,
    exclude: Exclude = None,
    as_json: Json = False,
) -> None:
    """Find code for a whole task, part by part: what a language model has verified, and how to apply it."""
    from xkg.commands.graph.open import open_service
    from xkg.serve.search.filters import Filters

    filters = Filters(papers=tuple(paper or ()), with_code=with_code, exclude=tuple(exclude or ()))
    with open_service(settings_of(context)) as service:
        print_answer(service.find_implementations(" ".join(task), k, filters=filters, full=with_code), as_json, service)


def related(
    context: typer.Context,
    paper: Paper,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many papers.")] = 10,
    exclude: Exclude = None,
    as_json: Json = False,
) -> None:
    """Find papers related to one: by citation either way, shared concepts, and how alike their techniques are."""
    from xkg.commands.graph.open import open_service

    with open_service(settings_of(context)) as service:
        print_answer(service.related(paper, k, tuple(exclude or ())), as_json, service)


def show(
    context: typer.Context,
    id: Annotated[
        str, typer.Argument(help="Id or name of a paper or technique, or id of code.", autocompletion=completion.nodes)
    ],
    everything: Annotated[
        bool, typer.Option("--all", help="References, files, the overview of the code and all descriptions too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a paper on a screen, or a technique or a code node in full."""
    from xkg.commands.graph import contents
    from xkg.commands.graph.open import open_service

    with open_service(settings_of(context)) as service:
        print_answer(contents.show(service, id, everything=everything or as_json), as_json, service)


def context(
    context: typer.Context,
    paper: Paper,
    budget: Annotated[int, typer.Option(min=1, help="At most so many tokens of four characters.")] = 2000,
    view: Annotated[
        Literal["planning", "implementation"],
        typer.Option(help="To plan with, without code; or pairs of technique and code."),
    ] = "planning",
    include: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this kind of node (repeatable): paper, techniques, code, repositories, findings, resources, "
            "related."
        ),
    ] = None,
    code: Annotated[
        Literal["raw", "rewritten", "verified"],
        typer.Option(help="Lines of the repository, the code nodes, or those whose test has run."),
    ] = "rewritten",
    repo: Annotated[Path | None, typer.Option(help="Clone of the paper's repository, for raw code.")] = None,
    as_json: Json = False,
) -> None:
    """Print a paper as Markdown for a prompt, within a budget of tokens; its last line says what was left out."""

    from xkg.commands.graph.open import open_service

    with open_service(settings_of(context)) as service:
        answer = service.context(
            paper,
            budget,
            view,
            include=include,  # type: ignore[arg-type]  # words that are no kinds are refused by name
            code=code,
            repository=repo,
        )
    print_answer(answer, as_json)


def locate(
    context: typer.Context,
    technique: Annotated[
        list[str],
        typer.Argument(help="Technique id or name, or what the code should do.", autocompletion=completion.nodes),
    ],
    repo: Annotated[Path | None, typer.Option(help="Folder of a repository, changed or not.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="At most so many places.")] = 10,
    as_json: Json = False,
) -> None:
    """Find the lines of a technique: what an ablation edits, each certain, doubtful or weak."""
    from xkg.commands.graph.open import open_service

    with open_service(settings_of(context)) as service:
        print_answer(service.locate(" ".join(technique), repo, k), as_json, service)


def ablations(
    context: typer.Context,
    paper: Paper,
    repo: Annotated[Path | None, typer.Option(help="Folder of a repository, changed or not.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="At most so many ablations.")] = 5,
    llm: Annotated[str | None, typer.Option(help="Name of the language model, or none for the graph alone.")] = None,
    as_json: Json = False,
) -> None:
    """Plan ablations of a paper: what to remove, replace or add, why, by what measure, and in which lines."""
    from xkg.agents.planning.ablations import plan_ablations
    from xkg.cli.display.layout import width, wrapped
    from xkg.commands.graph.open import open_service

    with open_service(settings_of(context, llm=present(model=llm))) as service:
        plan = plan_ablations(service, paper, k, repo)
    if as_json:
        print_result(plan, as_json)
    else:
        print_text(wrapped(str(in_commands(plan)), width()))


def cypher(
    context: typer.Context,
    query: Annotated[
        str | None,
        typer.Argument(
            help="Name of a query that --list shows, or one read-only statement.", autocompletion=completion.queries
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the named queries; as JSON with all of each.")] = False,
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Value of a parameter (repeatable).")
    ] = None,
    format: Annotated[Literal["table", "json", "csv"], typer.Option(help="How to print the rows.")] = "table",
    rows: Annotated[int, typer.Option(min=1, help="At most so many rows.")] = 1000,
    seconds: Annotated[float, typer.Option(min=0.1, help="At most so long.")] = 30,
    as_json: Json = False,
) -> None:
    """Ask the graph a named query, or in read-only Cypher.

    In a statement of your own a value given by --param is what JSON makes of it, else a string; "2" in quotes is a
    string too. Nodes: Paper, Technique, Code, Symbol, Repository, Finding, Resource. Edges: PROPOSES, HAS_COMPONENT,
    IMPLEMENTED_BY, LOCATED_AT, DERIVED_FROM, HAS_REPOSITORY, DEFINES, CITES, SAME_CONCEPT, REPORTS, RELEASES.
    """
    from xkg.cli.display import table_formats
    from xkg.cli.display.layout import UNBOUNDED, width
    from xkg.commands.graph.open import open_store
    from xkg.serve.answers.query_parameters import with_paper_ids
    from xkg.store.cypher import named_queries

    shown = "json" if as_json else format
    if listed:
        typer.echo(table_formats.query_list(named_queries.queries(), shown, width()), nl=False)
        return
    if query is None:
        raise typer.BadParameter("give the name of a query, or a statement; `xkg cypher --list` lists the names")
    settings = settings_of(context)
    values = _values(param or (), typed=not named_queries.is_name(query))
    with open_store(settings) as store, store.snapshot() as snapshot:
        known = with_paper_ids(store, snapshot, query, values, seconds)
        statement, parameters = named_queries.prepare(query, known, named_queries.engine(settings.store))
        table = store.query(statement, parameters, rows=rows, seconds=seconds)
        columns = width()
        short = table_formats.short_ids_in(table, snapshot) if shown == "table" and columns < UNBOUNDED else {}
    typer.echo(table_formats.render(table, shown, columns, short), nl=False)
    if table.truncated:
        typer.echo(f"only the first {len(table.rows)} rows are shown; --rows asks for more", err=True)


def _values(options: Sequence[str], *, typed: bool) -> dict[str, Any]:
    """Parameters as `name=value`; `typed` ones are what JSON makes of them."""
    from xkg.store.cypher.named_queries import plain

    values: dict[str, Any] = {}
    for each in options:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"--param {each[:80]}: write NAME=VALUE")
        if name.strip() in values:
            raise typer.BadParameter(f"--param {name.strip()} is given twice; a list is one value, such as a,b")
        values[name.strip()] = plain(value) if typed else value
    return values
