"""Thin commands: parse arguments, call one function, print. Exit codes: 0 done, 1 it could not be done, 2 usage."""

import io
import json
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from xkg.cli_token import token_app
from xkg.errors import InputError, StoreError, XkgError

if TYPE_CHECKING:  # a command imports what it needs, so that `xkg serve` answers at once
    from pydantic import BaseModel

    from xkg.build.verify import NodeResult
    from xkg.config import Settings
    from xkg.serve.answers import Answer

INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Executable knowledge graphs: papers, their techniques and the code that runs them.",
)
index_app = typer.Typer(help="Look after the indexes of the published graph.")
store_app = typer.Typer(help="Look after the stored generations.")
app.add_typer(index_app, name="index")
app.add_typer(store_app, name="store")
app.add_typer(token_app, name="token")

Json = Annotated[bool, typer.Option("--json", help="Print JSON; README.md lists the fields.")]
Papers = Annotated[list[str] | None, typer.Argument(help="Paper ids; none means all.")]


@app.callback()
def _global_options(
    context: typer.Context,
    kg: Annotated[
        Path | None, typer.Option("--kg", readable=False, help="Folder of the graph [XKG_KG, or storage/default].")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the traceback of an error.")] = False,
) -> None:
    context.obj = {"kg": kg, "verbose": verbose}


@app.command()
def build(
    context: typer.Context,
    paper: Annotated[
        list[str],
        typer.Option(help="LaTeX file or folder, arXiv archive, Markdown, PDF, HTML; or an arXiv id or address."),
    ],
    repo: Annotated[
        list[str] | None, typer.Option(help="URL, folder or git directory; each may end in @commit.")
    ] = None,
    given_id: Annotated[str | None, typer.Option("--id", help="Id of the paper, such as arxiv:1608.04471.")] = None,
    llm: Annotated[
        str | None, typer.Option(help="Language model [llm.model, or o4-mini]; 'none' is static analysis, without key.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="At most so many dollars a paper, earlier builds included.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what a build would ask and about what it would cost; ask nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Build the graph of a paper and its repository, and publish it.

    Several papers, each with its --repo in the same order, are built one after the other; what fails for one does not
    keep the others. The language model's key is read from XKG_LLM_KEY or OPENAI_API_KEY; --llm none needs none."""
    from xkg import application
    from xkg.progress import shown

    settings = _settings(context, llm=_given(model=llm, max_cost=max_cost))
    pairs = _pairs(paper, repo or [], given_id)
    if dry_run:
        plans = [application.plan(settings, one, its, given_id=given_id) for one, its in pairs]
        _print_each(plans, as_json)
        return
    results, failures = [], []
    with shown(len(pairs)) as notify:
        for one, its in pairs:
            try:
                results.append(application.build(settings, one, its, given_id=given_id, notify=notify))
            except XkgError as error:
                if len(pairs) == 1:
                    raise
                failures.append(f"{one}: {error}")
    for result in results:
        for note in result.notes:
            typer.echo(f"note: {note}", err=True)
        failures += [f"{result.paper}: {result.unfinished}"] if result.unfinished else []
    for failure in failures if len(pairs) > 1 else ():
        typer.echo(f"failed: {failure}", err=True)
    _print_each(results, as_json, several=len(pairs) > 1)
    if failures:
        raise InputError(
            failures[0] if len(pairs) == 1 else f"{len(failures)} of {len(pairs)} papers failed; run again to go on"
        )


@app.command()
def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What the code should do, or the name of a technique.")],
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many rows.")] = 5,
    paper: Annotated[list[str] | None, typer.Option(help="Search only this paper (repeatable).")] = None,
    with_code: Annotated[
        bool, typer.Option("--with-code", help="Only techniques with code, and the code of each.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find techniques, best first; no row where nothing fits."""
    from xkg import application

    with application.open_service(_settings(context)) as service:
        answer = service.search(query, k, tuple(paper or ()), with_code)
        implementations = [service.code(row.id, full=as_json) for row in answer.rows] if with_code else []
    if as_json:
        typer.echo(_json({**answer.model_dump(), "implementations": [code.model_dump() for code in implementations]}))
        return
    _print_answer(answer, as_json)
    for each in implementations:
        _print_answer(each, as_json)


@app.command()
def show(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="A paper, technique or code id.")],
    as_json: Json = False,
) -> None:
    """Show a paper, a technique or a code node in full."""
    from xkg import application

    _print_answer(application.show(_settings(context), id), as_json)


@app.command()
def locate(
    context: typer.Context,
    technique: Annotated[str, typer.Argument(help="Technique id or name, or what the code should do.")],
    repo: Annotated[Path | None, typer.Option(help="Folder of a repository, changed or not.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="At most so many places.")] = 10,
    as_json: Json = False,
) -> None:
    """Find the lines of a technique: what an ablation edits; none where nothing is well founded."""
    from xkg import application

    with application.open_service(_settings(context)) as service:
        _print_answer(service.locate(technique, repo, k), as_json)


@app.command("import")
def import_(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(readable=False, help="Folder of graph files: the peer's JSON, or bundles.")],
    as_json: Json = False,
) -> None:
    """Import graphs that were built elsewhere; what they say of their own code stays a claim."""
    from xkg import application

    result = application.import_graphs(_settings(context), folder)
    for problem in result.problems:
        typer.echo(f"left out: {problem}", err=True)
    _print(result, as_json)
    if result.problems:
        raise InputError(f"files of {folder} left out: {len(result.problems)}; mend them, then import again")


@app.command()
def export(
    context: typer.Context,
    to: Annotated[Path, typer.Option(readable=False, help="Folder to write to; it is made.")],
    papers: Papers = None,
    format: Annotated[Literal["peer", "bundle"], typer.Option(help="The peer's JSON, or whole bundles.")] = "peer",
    as_json: Json = False,
) -> None:
    """Write papers into a folder, one file each."""
    from xkg import application

    _print(application.export_graphs(_settings(context), tuple(papers or ()), to, format), as_json)


@app.command()
def verify(
    context: typer.Context,
    papers: Papers = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Code nodes that run at the same time.")] = 2,
    as_json: Json = False,
) -> None:
    """Run the stored code and its tests again, in the sandbox, and set levels to what holds today."""
    from xkg import verification

    result = verification.verify(_settings(context), tuple(papers or ()), jobs, notify=_show_node)
    for note in result.notes:
        typer.echo(f"note: {note}", err=True)
    _print(result, as_json)


@app.command()
def costs(
    context: typer.Context,
    papers: Papers = None,
    by: Annotated[Literal["paper", "stage", "model"], typer.Option(help="What a row is for.")] = "paper",
    as_json: Json = False,
) -> None:
    """Say what the language model took: calls, tokens, seconds and dollars, from all builds of this graph."""
    from xkg import costs

    settings = _settings(context)
    _print(costs.costs(settings.kg, settings.llm, tuple(papers or ()), by), as_json)


@app.command()
def link(
    context: typer.Context,
    llm: Annotated[
        str | None, typer.Option(help="Language model [llm.model, or o4-mini]; 'none' leaves open pairs open.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="At most so many dollars, earlier runs included.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find techniques of different papers that are one concept; a language model decides what is not plain."""
    from xkg import linking

    settings = _settings(context, llm=_given(model=llm, max_cost=max_cost))
    result = linking.link(settings, None if settings.llm.model == "none" else lambda: linking.model(settings))
    for note in result.notes:
        typer.echo(f"note: {note}", err=True)
    _print(result, as_json)


@app.command()
def remove(context: typer.Context, paper: Annotated[str, typer.Argument(help="Paper id.")]) -> None:
    """Take a paper out of the graph (`xkg store rollback` brings it back)."""
    from xkg import application

    with application.open_store(_settings(context)) as store:
        generation = store.remove([paper])
    typer.echo(f"removed {paper}; the graph is generation {generation}")


@app.command()
def cypher(
    context: typer.Context,
    query: Annotated[
        str | None, typer.Argument(help="Name of a query that --list tells, or one read-only statement.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the named queries; with --json all of each.")] = False,
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
    from xkg import application, tables
    from xkg.store import library

    if listed:
        typer.echo(tables.query_list(library.queries(), as_json), nl=False)
        return
    if query is None:
        raise typer.BadParameter("give the name of a query, or a statement; `xkg cypher --list` tells the names")
    settings = _settings(context)
    values = _values(param or (), typed=not library.is_name(query))
    statement, parameters = library.prepare(query, values, library.engine(settings.store))
    with application.open_store(settings) as store:
        table = store.query(statement, parameters, rows=rows, seconds=seconds)
    typer.echo(tables.render(table, "json" if as_json else format), nl=False)
    if table.truncated:
        typer.echo(f"only the first {len(table.rows)} rows are shown; --rows asks for more", err=True)


@app.command()
def serve(
    context: typer.Context,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve over HTTP at this address, not stdin and stdout.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that answer over HTTP.")] = 1,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option(help="What is logged over HTTP; debug logs contents too."),
    ] = "info",
) -> None:
    """Serve the graph to agents: MCP over stdin and stdout, or over HTTP.

    Other machines are served only where callers must show a token: `xkg token create`, or serve.oauth."""
    if http is not None:
        from xkg.serve.http import serve_http

        serve_http(_settings(context), http, workers, log_level)
        return
    from xkg.serve.server import serve as run

    run(_settings(context))


@app.command()
def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Say what is installed and reachable, and what each missing thing costs."""
    from xkg.doctor import examine

    _print(examine(_settings(context)), as_json)


@index_app.command("check")
def index_check(context: typer.Context, as_json: Json = False) -> None:
    """Check every stored file against its checksum."""
    from xkg import application

    result = application.check_index(_settings(context))
    _print(result, as_json)
    if result.problems:
        raise StoreError(f"problems found: {len(result.problems)}; do what their lines say")


@index_app.command("rebuild")
def index_rebuild(context: typer.Context) -> None:
    """Make graph, vectors and text index anew from the bundles."""
    from xkg import application

    with application.open_store(_settings(context)) as store:
        generation, notes = store.rebuild()
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"rebuilt; the graph is generation {generation}")


@store_app.command("copy")
def store_copy(
    context: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FROM", help="Folder of a graph, or address of a Neo4j.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Folder of a graph, or address of a Neo4j.")],
    as_json: Json = False,
) -> None:
    """Copy every paper of one graph into another, and compare what is there then.

    An address is bolt://host:7687, neo4j+s://host or their like, with user and password from NEO4J_USERNAME and
    NEO4J_PASSWORD or the file that store.credentials names. Papers that are in TO already and not in FROM stay."""
    from xkg import application, moving

    settings = _settings(context)
    with (
        application.open_store(moving.at(settings, source)) as first,
        application.open_store(moving.at(settings, target)) as second,
    ):
        result = moving.copy(first, second, lambda papers: typer.echo(f"  {papers} papers", err=True))
    _print(result, as_json)


@store_app.command("push")
def store_push(context: typer.Context, as_json: Json = False) -> None:
    """Send papers that were kept while the graph's server was away."""
    from xkg import application

    result = application.push(_settings(context))
    for problem in result.problems:
        typer.echo(f"not sent: {problem}", err=True)
    _print(result, as_json)
    if result.problems:
        raise StoreError(f"{len(result.problems)} papers were not sent; do what their lines say")


@store_app.command("migrate")
def store_migrate(context: typer.Context) -> None:
    """Bring a graph on Neo4j to the schema of this version."""
    from xkg.store.neo4j.migrations import migrate_graph

    applied = migrate_graph(_settings(context))
    typer.echo("\n".join(f"applied {name}" for name in applied) or "the graph has the newest schema")


@store_app.command("rollback")
def store_rollback(context: typer.Context) -> None:
    """Go back to the generation before the current one."""
    from xkg import application

    with application.open_store(_settings(context)) as store:
        generation = store.rollback()
    typer.echo(f"the graph is generation {generation} again" if generation else "the graph is empty again")


def main(arguments: Sequence[str] | None = None) -> None:
    """The `xkg` command. Ends the process: 0, or one line on stderr and the error's code; `-v` adds the traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a paper may hold what no terminal can show
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(given or ["--help"], prog_name="xkg", standalone_mode=False)
    except XkgError as error:
        _fail(str(error), error.exit_code, given)
    except typer.TyperException as error:
        _fail(_usage(error), error.exit_code, given)
    except Exception as error:  # a fault of xkg itself: still one line
        line = " ".join(f"{type(error).__name__}: {error}".split())
        _fail(f"a fault of xkg itself ({line}); run again with -v and report what it shows", 1, given)
    if code == INTERRUPTED:
        _fail("interrupted; what was stored is as it was, and the next run goes on from here", code, given)
    sys.exit(code)


def _fail(message: str, code: int, arguments: Sequence[str]) -> NoReturn:
    if sys.exc_info()[0] is not None and any(a in ("-v", "--verbose") for a in arguments):
        import traceback

        traceback.print_exc()
    sys.stderr.write(f"xkg: {message}\n")
    sys.exit(code)


def _usage(error: typer.TyperException) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")
    context: typer.Context | None = getattr(error, "ctx", None)
    if context is None:
        return f"{message}; `xkg --help` lists the commands"
    usage = " ".join(context.get_usage().split()).replace("Usage:", "usage:")
    return f"{message}; {usage} (`{context.command_path} --help` says more)"


def _settings(context: typer.Context, **flags: object) -> "Settings":
    from xkg.config import load

    return load(kg=context.obj["kg"], **flags)


def _given(**values: object) -> dict[str, object] | None:
    """Those that are not None, or None without any."""
    return {name: value for name, value in values.items() if value is not None} or None


def _values(given: Sequence[str], *, typed: bool) -> dict[str, Any]:
    """Parameters as `name=value`; `typed` ones are what JSON makes of them."""
    from xkg.store.library import plain

    values: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(f"--param {each[:80]}: write NAME=VALUE")
        if name.strip() in values:
            raise typer.BadParameter(f"--param {name.strip()} is given twice; a list is one value, such as a,b")
        values[name.strip()] = plain(value) if typed else value
    return values


def _show_node(result: "NodeResult") -> None:
    typer.echo(f"  {result.level:<10}{result.cause:<20}{result.code}", err=True)


def _pairs(papers: Sequence[str], repositories: Sequence[str], given_id: str | None) -> list[tuple[str, str | None]]:
    """Each paper with its repository."""
    if len(papers) > 1 and (given_id is not None or len(repositories) not in (0, len(papers))):
        raise InputError(
            f"{len(papers)} papers and {len(repositories)} repositories: give each --paper its --repo, in the same "
            "order, and --id for a single paper only"
        )
    if len(repositories) > len(papers):
        raise InputError("more --repo than --paper: a paper has one repository")
    return list(zip_longest(papers, repositories))


def _print_each(results: "Sequence[BaseModel]", as_json: bool, *, several: bool = False) -> None:
    """One by one; as JSON one object, or a list of several."""
    if as_json and (several or len(results) != 1):
        typer.echo(json.dumps([result.model_dump() for result in results], indent=2))
    else:
        for result in results:
            _print(result, as_json)


def _print(result: "BaseModel", as_json: bool) -> None:
    typer.echo(_json(result.model_dump()) if as_json else str(result))


def _print_answer(answer: "Answer", as_json: bool) -> None:
    from xkg.serve.answer_text import text

    typer.echo(_json(answer.model_dump()) if as_json else text(answer))


def _json(value: dict[str, Any]) -> str:
    """ASCII alone: half a surrogate pair in a paper has no UTF-8, and is still valid JSON."""
    return json.dumps(value, indent=2)
