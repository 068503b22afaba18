"""Commands that update a graph and show changes: update, diff."""

from typing import Annotated

import typer

from xkg.cli.display.output import (
    Address,
    AllowPublic,
    Blacklisted,
    Engine,
    Json,
    PaperJobs,
    Papers,
    present,
    print_result,
    settings_of,
)

SOME_FAILED = 3


def update(
    context: typer.Context,
    papers: Papers = None,
    check: Annotated[bool, typer.Option("--check", help="Show what is new; build nothing.")] = False,
    llm: Annotated[
        str | None,
        typer.Option(help="Language model (llm.model, or o4-mini); 'none' uses static analysis and needs no key."),
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Maximum dollars per paper, including earlier builds.")
    ] = None,
    jobs: PaperJobs = None,
    engine: Engine = "local",
    address: Address = None,
    allow_public: AllowPublic = False,
    blacklist: Blacklisted = None,
    as_json: Json = False,
) -> None:
    """Rebuild papers that have a new arXiv version or new commits, and show what changed.

    If a library that you pulled from has the new version, pulls it instead of building. Proven code stays until the new
    code reaches the same level. Papers and repositories from files are listed, not built. Exits with 3 if some papers
    could not be checked or built."""
    from xkg.cli.display.batch import display
    from xkg.commands import update
    from xkg.commands.engines import engine_for

    settings = settings_of(context, llm=present(model=llm, max_cost=max_cost))
    with engine_for(engine, jobs, address, allow_public=allow_public) as opened:
        result = update.update(
            settings,
            tuple(papers or ()),
            opened,
            check=check,
            blacklist=blacklist,
            display=lambda papers: display(papers, opened.jobs),
        )
    print_result(result, as_json)
    if result.failed:
        raise typer.Exit(SOME_FAILED)


def diff(
    context: typer.Context,
    first: Annotated[str | None, typer.Argument(help="Generation, paper, or folder of exported bundles.")] = None,
    second: Annotated[str | None, typer.Argument(help="The newer one; by default the current graph.")] = None,
    library: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Library whose version of the paper is compared with yours.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two generations, two papers, or exported bundles: techniques, places, levels.

    Without arguments, compares the current generation with the one before."""
    from xkg.commands.graph import diff

    print_result(diff.diff(settings_of(context), first, second, library=library), as_json)
