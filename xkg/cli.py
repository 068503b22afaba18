"""Thin commands: parse arguments, call one function, print. Exit codes: 0 done, 1 it could not be done, 2 usage."""

import json
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from xkg.errors import XkgError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from xkg.config import Settings
    from xkg.store.embedded import EmbeddedStore

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Executable knowledge graphs: papers, their techniques and the code that runs them.",
)
index_app = typer.Typer(no_args_is_help=True, help="The indexes of the published graph.")
store_app = typer.Typer(no_args_is_help=True, help="The stored generations.")
app.add_typer(index_app, name="index")
app.add_typer(store_app, name="store")

Json = Annotated[bool, typer.Option("--json", help="Print JSON with the fields that README.md documents.")]


class _Invocation:
    """What the global options said; a command reads it once."""

    kg: Path | None = None
    verbose: bool = False


@app.callback()
def _globals(
    kg: Annotated[Path | None, typer.Option("--kg", help="Folder of the graph [XKG_KG, else storage/default].")] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show the traceback of an error.")] = False,
) -> None:
    _Invocation.kg = kg
    _Invocation.verbose = verbose


@app.command()
def build(
    paper: Annotated[Path, typer.Option(help="LaTeX file or folder, arXiv tarball, or Markdown.")],
    repo: Annotated[str | None, typer.Option(help="URL, folder or bare git directory, each with @commit.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Id of the paper, e.g. arxiv:1608.04471.")] = None,
    llm: Annotated[Literal["none"], typer.Option(help="Language model; 'none' builds by static analysis.")] = "none",
    as_json: Json = False,
) -> None:
    """Build the graph of one paper and its repository, and publish it."""
    from xkg.build.pipeline import build_paper
    from xkg.build.stages import StageReport

    settings = _settings()
    store = _store(settings)
    store.writable()

    def show(report: StageReport) -> None:
        again = " (kept from before)" if report.reused else ""
        typer.echo(f"  {report.name:<11} {report.seconds:6.1f} s  {report.summary}{again}", err=True)

    built = build_paper(paper, repo, settings, embedder=store.embedder(), given_id=id, notify=show)
    published = store.publish_if_changed([built.bundle])
    if as_json:
        _print_json(built.summary(published))
    else:
        typer.echo(built.report(published))


@app.command()
def search(
    query: str,
    k: Annotated[int, typer.Option("-k", min=1, max=100, help="How many rows.")] = 5,
    paper: Annotated[list[str] | None, typer.Option(help="Only in this paper (repeatable).")] = None,
    with_code: Annotated[bool, typer.Option("--with-code", help="Show the code of each row.")] = False,
    as_json: Json = False,
) -> None:
    """Find techniques, best first; none when nothing fits."""
    from xkg.serve.retrieval import search as retrieve

    store = _store(_settings())
    with store.snapshot() as snapshot:
        answer = retrieve(snapshot, store.embed_query, query, k=k, papers=tuple(paper or ()), with_code=with_code)
    _print(answer, as_json)


def main(arguments: Sequence[str] | None = None) -> None:
    """The `xkg` command."""
    ...
