"""Implements the commands that build a graph: build, update, verify, costs and concepts."""

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from xkg.cli.build_papers import build_papers
from xkg.cli.command import PACKAGES, PER_PAPER, STATIC, command
from xkg.cli.curate import with_curated
from xkg.cli.display.output import (
    Blacklisted,
    Json,
    Papers,
    ProgressForm,
    Within,
    json_of,
    print_result,
    print_text,
)
from xkg.commands.engines import EngineFields, engine_of
from xkg.errors import InputError
from xkg.text.plural import plural

if TYPE_CHECKING:
    from xkg.build.verify import NodeResult
    from xkg.commands.graph.link import LinkResult
    from xkg.commands.update import UpdateResult
    from xkg.commands.verify import VerifyResult
    from xkg.config import Settings
    from xkg.sandbox.packages.plan import Installing


@command(
    common=("paper", "repo", "paper_id", "papers", "jobs", "llm", "max_cost", "packages", "dry_run", "as_json"),
    llm=STATIC,
    max_cost=PER_PAPER,
    max_total_cost="Maximum cost of the whole graph in dollars, including earlier builds.",
    **PACKAGES,
)
def build(
    settings: "Settings",
    *,
    paper: Annotated[
        list[str] | None,
        typer.Option(help="LaTeX, Markdown, PDF or HTML file, LaTeX folder, arXiv archive, id or URL, or title."),
    ] = None,
    repo: Annotated[
        list[str] | None,
        typer.Option(
            help="Repository: URL, folder or git directory, optionally with @commit, or auto to find the paper's own."
        ),
    ] = None,
    paper_id: Annotated[str | None, typer.Option("--id", help="Id of the paper, such as arxiv:1608.04471.")] = None,
    papers: Annotated[
        Path | None,
        typer.Option(help="File with one paper per line: paper, repository and id, separated by tabs, or as JSON."),
    ] = None,
    where: EngineFields,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Also retry papers in --papers that failed before.")
    ] = False,
    first: Annotated[
        bool, typer.Option("--first", help="If several papers have the title given as --paper, use the best match.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report on several papers to this file.")] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the number of questions a build would ask and their estimated cost, without asking them.",
        ),
    ] = False,
    curated: Annotated[
        bool, typer.Option("--curate", help="Also build the papers that `xkg curate` finds around each paper.")
    ] = False,
    blacklist: Blacklisted = None,
    progress: ProgressForm = "text",
    within: Within = None,
    as_json: Json = False,
) -> None:
    """Build the graph of a paper and its repository, and publish it.

    Pass several papers with one --repo each, in the same order. Up to --jobs papers are built at a time. If some papers
    fail, the others are still built, and the exit code is 3. --papers builds the missing or changed papers in a list.
    The API key is read from XKG_LLM_KEY or OPENAI_API_KEY; --llm none needs no key."""
    from xkg.cli.display.progress import json_lines, text_lines
    from xkg.commands import build
    from xkg.commands.batch.paper_list import paper_list, read_list

    if bool(paper) == (papers is not None) or (papers is not None and (repo or paper_id is not None)):
        raise typer.BadParameter("pass either --paper (with --repo and --id) or a list with --papers")
    if retry_failed and papers is None:
        raise typer.BadParameter("--retry-failed requires a list (--papers)")
    pairs = _pairs(paper or [], repo or [], paper_id)
    listed = paper_list((*pair, paper_id, None) for pair in pairs) if papers is None else read_list(papers)
    if dry_run:
        plans = [build.plan(settings, each.paper, each.repository, paper_id=each.paper_id) for each in listed.papers]
        if as_json:
            dumped = [plan.model_dump() for plan in plans]
            print_text(json_of(dumped[0] if len(dumped) == 1 else dumped))
        else:
            print_text("\n".join(map(str, plans)))
        return
    if papers is None and len(pairs) == 1 and not (curated or where or html):
        roots = None if within is None else [Path(folder) for folder in within if folder]
        with json_lines() if progress == "json" else text_lines() as notify:
            built = build.build(
                settings, *pairs[0], paper_id=paper_id, notify=notify, roots=roots, blacklist=blacklist, first=first
            )
        print_result(built, as_json)
        return
    if within is not None:
        raise typer.BadParameter("--within is for a single paper")
    problems: tuple[str, ...] = ()
    if curated:
        listed, problems = with_curated(settings, listed, blacklist)
    build_papers(
        settings,
        listed,
        where,
        retry_failed=retry_failed,
        again=papers is None,
        blacklist=blacklist,
        first=first,
        html=html,
        problems=problems,
        progress=progress,
        as_json=as_json,
    )


@command(llm=STATIC, max_cost=PER_PAPER)
def update(
    settings: "Settings",
    *,
    papers: Papers = None,
    where: EngineFields,
    check: Annotated[bool, typer.Option("--check", help="Show what is new, without building it.")] = False,
    blacklist: Blacklisted = None,
) -> "UpdateResult":
    """Rebuild papers that have a new arXiv version or new commits, and show what changed.

    If a library that you pulled from has the new version, pulls that version instead of building. Proven code is kept
    until the new code reaches the same level. Papers and repositories that came from files are listed, but not built.
    Exits with 3 if some papers could not be checked or built."""
    from xkg.cli.display.progress import lines_of_papers
    from xkg.commands.update import update

    with engine_of(where) as engine:
        return update(
            settings,
            papers or (),
            engine,
            check=check,
            blacklist=blacklist,
            display=lines_of_papers,
        )


@command(**PACKAGES)
def verify(
    settings: "Settings",
    papers: Papers = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Code nodes to run in parallel.")] = 2,
    stale: Annotated[str | None, typer.Option(help="Only code whose last run is older than this, e.g. 90d.")] = None,
    attest: Annotated[bool, typer.Option("--attest", help="Sign the levels for people who trust your key.")] = False,
    key: Annotated[
        Path | None,
        typer.Option(readable=False, help="Private key, or public key whose private key is in ssh-agent."),
    ] = None,
) -> "VerifyResult":
    """Run the stored code and its tests again in the sandbox, and update the levels."""
    from xkg.commands import verify
    from xkg.serve.http.tokens import lifetime

    age = None if stale is None else lifetime(stale)
    signed = attest or key is not None
    return verify.verify(settings, papers or (), jobs, _show_node, age, attest=signed, key=key)


@command()
def costs(
    settings: "Settings",
    papers: Papers = None,
    by: Annotated[Literal["paper", "stage", "model"], typer.Option(help="How to group the rows.")] = "paper",
    as_json: Json = False,
) -> None:
    """Show the language model's cost for all builds of this graph: calls, tokens, seconds, dollars."""
    from xkg.cli.display.layout import table, width, wrapped
    from xkg.commands.graph.open import ids_where_known
    from xkg.llm.costs import costs

    bill = costs(settings.kg, settings.llm, ids_where_known(settings, papers or ()), by)
    if as_json:
        print_result(bill, as_json)
        return
    columns, rows, notes = bill.cells()
    parts = [table(columns, rows, numbers=range(1, len(columns)))] if rows else []
    print_text("\n".join([*parts, *(wrapped(note, width()) for note in notes)]))


@command(
    llm="Language model (default: llm.model, or o4-mini); 'none' leaves unclear pairs undecided.",
    max_cost="Maximum cost in dollars, including earlier runs.",
)
def concepts(settings: "Settings") -> "LinkResult":
    """Find techniques in different papers that represent the same concept; a language model decides unclear pairs."""
    from xkg.commands.graph.link import link

    return link(settings)


def _show_node(event: "NodeResult | Installing") -> None:
    from xkg.sandbox.packages.plan import Installing

    if not isinstance(event, Installing) or not event.done_mb:
        print_text(f"  {event}", err=True)


def _pairs(papers: Sequence[str], repositories: Sequence[str], paper_id: str | None) -> list[tuple[str, str | None]]:
    if len(papers) > 1 and (paper_id is not None or len(repositories) not in (0, len(papers))):
        given = f"{len(papers)} papers and {plural(len(repositories), 'repository', 'repositories')}"
        raise InputError(
            f"{given}; pass one --repo for each --paper, in the same order, and --id only for a single paper"
        )
    if len(repositories) > len(papers):
        raise InputError("there are more --repo than --paper options; pass one --repo for each --paper")
    return list(zip_longest(papers, repositories))
