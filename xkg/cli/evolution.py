"""Commands about how a graph changes: update, diff."""

from typing import Annotated

import typer

from xkg.cli.display.output import Blacklisted, Json, Papers, present, print_result, settings_of

SOME_FAILED = 3


def update(
    context: typer.Context,
    papers: Papers = None,
    check: Annotated[bool, typer.Option("--check", help="Say what is new; build nothing.")] = False,
    llm: Annotated[
        str | None, typer.Option(help="Language model (llm.model, or o4-mini); 'none' is static analysis, without key.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="At most so many dollars a paper, earlier builds included.")
    ] = None,
    blacklist: Blacklisted = None,
    as_json: Json = False,
) -> None:
    """Build papers again that have a new version on arXiv or new commits in their repository, and say what changed.

    Code that was proven stays until the new code is proven as far. Papers and repositories from files are named, not
    built. Exits with 3 where some papers could not be looked at or built."""
    from xkg.cli.display.progress import text_lines
    from xkg.commands import update

    settings = settings_of(context, llm=present(model=llm, max_cost=max_cost))
    with text_lines(0) as notify:
        result = update.update(settings, tuple(papers or ()), check=check, blacklist=blacklist, notify=notify)
    print_result(result, as_json)
    if result.failed:
        raise typer.Exit(SOME_FAILED)


def diff(
    context: typer.Context,
    first: Annotated[str | None, typer.Argument(help="Generation, paper, or folder of exported bundles.")] = None,
    second: Annotated[str | None, typer.Argument(help="The newer one; else the present graph.")] = None,
    as_json: Json = False,
) -> None:
    """Say what differs between two generations, two papers, or exported bundles: techniques, places, levels.

    Without arguments: between the present generation and the one before."""
    from xkg.commands.graph import diff

    print_result(diff.diff(settings_of(context), first, second), as_json)
