"""Commands that make a graph: build, verify, costs, link."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from xkg.cli.build_papers import build_papers
from xkg.cli.curate import curated_papers
from xkg.cli.display.output import (
    Address,
    AllowPublic,
    Blacklisted,
    Cpu,
    Engine,
    Json,
    PaperJobs,
    Papers,
    With,
    present,
    print_each,
    print_result,
    print_text,
    settings_of,
)
from xkg.errors import InputError
from xkg.text.plural import plural

if TYPE_CHECKING:
    from xkg.build.verify import NodeResult
    from xkg.config import Settings
    from xkg.sandbox.packages.plan import Installing


def build(
    context: typer.Context,
    paper: Annotated[
        list[str] | None,
        typer.Option(help="LaTeX file or folder, arXiv archive, Markdown, PDF, HTML; arXiv id or address; or title."),
    ] = None,
    repo: Annotated[
        list[str] | None,
        typer.Option(help="URL, folder or git directory, each may end in @commit; or auto: the paper's own."),
    ] = None,
    paper_id: Annotated[str | None, typer.Option("--id", help="Id of the paper, such as arxiv:1608.04471.")] = None,
    papers: Annotated[
        Path | None,
        typer.Option(help="File of papers, one a line: paper, repository and id, separated by tabs; or JSON lines."),
    ] = None,
    jobs: PaperJobs = None,
    engine: Engine = "local",
    address: Address = None,
    allow_public: AllowPublic = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Build papers of --papers anew that failed before.")
    ] = False,
    first: Annotated[
        bool, typer.Option("--first", help="Of several papers that have the title given as a paper, take the best.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write the report of several papers as a page, to this file.")
    ] = None,
    llm: Annotated[
        str | None, typer.Option(help="Language model (llm.model, or o4-mini); 'none' is static analysis, without key.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="At most so many dollars a paper, earlier builds included.")
    ] = None,
    max_total_cost: Annotated[
        float | None,
        typer.Option(min=0, help="At most so many dollars for the whole graph, earlier builds too."),
    ] = None,
    with_: With = None,
    cpu: Cpu = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what a build would ask and about what it would cost; ask nothing.")
    ] = False,
    curated: Annotated[
        bool, typer.Option("--curate", help="Also build the papers that `xkg curate` finds around each paper.")
    ] = False,
    blacklist: Blacklisted = None,
    progress: Annotated[
        Literal["text", "json"], typer.Option(help="How stages are reported on stderr: for a person, or as JSON lines.")
    ] = "text",
    within: Annotated[
        list[str] | None, typer.Option(hidden=True, help="Folders that a repository lies under; '' opens none.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Build the graph of a paper and its repository, and publish it.

    Several papers, each with its --repo in the same order, are built --jobs at a time; what fails for one does not keep
    the others, and the exit code is 3 where some failed. --papers builds a list, and of it what is missing or changed;
    of those that --paper names and --curate finds, each is built, from its finished stages. The language model's key is
    read from XKG_LLM_KEY or OPENAI_API_KEY; --llm none needs none."""
    from xkg.commands import build
    from xkg.commands.batch.paper_list import paper_list, read_list
    from xkg.commands.engines import engine_for

    settings = settings_of(
        context,
        llm=present(model=llm, max_cost=max_cost, max_total_cost=max_total_cost),
        environment=present(packages=with_ or None, cpu=cpu),
    )
    if papers is not None:
        _refuse(
            context,
            "belongs to single papers: a line of the list holds paper, repository and id",
            {
                "--paper": bool(paper),
                "--repo": bool(repo),
                "--id": paper_id is not None,
                "--dry-run": dry_run,
                "--curate": curated,
                "--progress": progress != "text",
                "--within": within is not None,
            },
        )
        build_papers(
            settings,
            read_list(papers),
            engine_for(engine, jobs, address, allow_public=allow_public),
            retry_failed=retry_failed,
            blacklist=blacklist,
            first=first,
            html=html,
            as_json=as_json,
        )
        return
    _refuse(context, "belongs to --papers", {"--retry-failed": retry_failed})
    if not paper:
        raise typer.BadParameter("give a paper, or a list of them with --papers", context, param_hint="--paper")
    pairs = _pairs(paper, repo or [], paper_id)
    if dry_run:
        plans = [build.plan(settings, source, repository, paper_id=paper_id) for source, repository in pairs]
        print_each(plans, as_json)
        return
    if curated or len(pairs) > 1:
        _refuse(context, "belongs to a single paper", {"--within": within is not None})
        named = [(source, repository, paper_id, None) for source, repository in pairs]
        found, problems = curated_papers(settings, paper, blacklist, paper_id) if curated else ([], [])
        build_papers(
            settings,
            paper_list([*named, *found]),
            engine_for(engine, jobs, address, allow_public=allow_public),
            again=True,
            blacklist=blacklist,
            first=first,
            html=html,
            problems=problems,
            progress=progress,
            as_json=as_json,
        )
        return
    for_several = {
        "--jobs": jobs is not None,
        "--engine": engine != "local",
        "--address": address is not None,
        "--html": html is not None,
    }
    _refuse(context, "belongs to several papers", for_several)
    roots = None if within is None else [Path(folder) for folder in within if folder]
    _build_one(settings, *pairs[0], paper_id, progress, roots, blacklist, as_json, first=first)


def _refuse(context: typer.Context, reason: str, given: Mapping[str, bool]) -> None:
    """Raises `typer.BadParameter` for the first option that was given."""
    for option, is_given in given.items():
        if is_given:
            raise typer.BadParameter(f"it {reason}", context, param_hint=option)


def _build_one(
    settings: "Settings",
    source: str,
    repository: str | None,
    paper_id: str | None,
    progress: Literal["text", "json"],
    roots: Sequence[Path] | None,
    blacklist: Path | None,
    as_json: bool,
    *,
    first: bool,
) -> None:
    """Builds one paper and prints the result. Raises `InputError` where it is partial, and what a build raises."""
    from xkg.cli.display.progress import json_lines, text_lines
    from xkg.commands import build

    with json_lines() if progress == "json" else text_lines() as notify:
        result = build.build(
            settings,
            source,
            repository,
            paper_id=paper_id,
            notify=notify,
            roots=roots,
            blacklist=blacklist,
            first=first,
        )
    for note in result.notes:
        print_text(f"note: {note}", err=True)
    print_result(result, as_json)
    if result.unfinished:
        raise InputError(f"{result.paper}: {result.unfinished}")


def verify(
    context: typer.Context,
    papers: Papers = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Code nodes that run at the same time.")] = 2,
    stale: Annotated[str | None, typer.Option(help="Only code that ran last longer ago, such as 90d.")] = None,
    attest: Annotated[bool, typer.Option("--attest", help="Sign the levels, for those who trust your key.")] = False,
    key: Annotated[
        Path | None,
        typer.Option(readable=False, help="Private key, or public one that ssh-agent holds; that of `xkg key`."),
    ] = None,
    with_: With = None,
    cpu: Cpu = None,
    as_json: Json = False,
) -> None:
    """Run the stored code and its tests again, in the sandbox, and set levels to what holds today."""
    from xkg.commands import verify

    age = None if stale is None else verify.age(stale)
    settings = settings_of(context, environment=present(packages=with_ or None, cpu=cpu))
    result = verify.verify(
        settings, tuple(papers or ()), jobs, _show_node, age, attest=attest or key is not None, key=key
    )
    for note in result.notes:
        print_text(f"note: {note}", err=True)
    print_result(result, as_json)


def costs(
    context: typer.Context,
    papers: Papers = None,
    by: Annotated[Literal["paper", "stage", "model"], typer.Option(help="What a row is for.")] = "paper",
    as_json: Json = False,
) -> None:
    """Say what the language model took: calls, tokens, seconds and dollars, from all builds of this graph."""
    from xkg.cli.display.costs import cost_table
    from xkg.commands.graph.open import ids_where_known
    from xkg.llm import costs

    settings = settings_of(context)
    bill = costs.costs(settings.kg, settings.llm, ids_where_known(settings, papers or ()), by)
    if as_json:
        print_result(bill, as_json)
    else:
        print_text(cost_table(bill))


def link(
    context: typer.Context,
    llm: Annotated[
        str | None, typer.Option(help="Language model (llm.model, or o4-mini); 'none' leaves open pairs open.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="At most so many dollars, earlier runs included.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find techniques of different papers that are one concept; a language model decides what is not plain."""
    from xkg.commands.graph import link

    settings = settings_of(context, llm=present(model=llm, max_cost=max_cost))
    result = link.link(settings, None if settings.llm.model == "none" else lambda: link.model(settings))
    for note in result.notes:
        print_text(f"note: {note}", err=True)
    print_result(result, as_json)


def _show_node(event: "NodeResult | Installing") -> None:
    from xkg.sandbox.packages.plan import Installing

    if not isinstance(event, Installing) or not event.done_mb:
        print_text(f"  {event}", err=True)


def _pairs(papers: Sequence[str], repositories: Sequence[str], paper_id: str | None) -> list[tuple[str, str | None]]:
    """Each paper with its repository."""
    if len(papers) > 1 and (paper_id is not None or len(repositories) not in (0, len(papers))):
        given = f"{len(papers)} papers and {plural(len(repositories), 'repository', 'repositories')}"
        raise InputError(f"{given}: give each --paper its --repo, in the same order, and --id for a single paper only")
    if len(repositories) > len(papers):
        raise InputError("more --repo than --paper: a paper has one repository")
    return list(zip_longest(papers, repositories))
