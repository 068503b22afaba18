"""Commands that build a graph: build, verify, costs, concepts."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from xkg.cli.build_papers import build_papers
from xkg.cli.curate import curated_papers
from xkg.cli.display.help import FoldedCommand, HelpAll
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
    print_notes,
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


class BuildCommand(FoldedCommand):
    common = frozenset(
        {"paper", "repo", "paper_id", "papers", "jobs", "llm", "max_cost", "with_", "dry_run", "as_json"}
    )


def build(
    context: typer.Context,
    paper: Annotated[
        list[str] | None,
        typer.Option(help="LaTeX file or folder, arXiv archive, Markdown, PDF or HTML; arXiv id or URL; or title."),
    ] = None,
    repo: Annotated[
        list[str] | None,
        typer.Option(help="URL, folder or git directory, optionally with @commit; or auto: the paper's own."),
    ] = None,
    paper_id: Annotated[str | None, typer.Option("--id", help="Id of the paper, such as arxiv:1608.04471.")] = None,
    papers: Annotated[
        Path | None,
        typer.Option(help="File of papers, one per line: paper, repository and id, separated by tabs; or JSON lines."),
    ] = None,
    jobs: PaperJobs = None,
    engine: Engine = "local",
    address: Address = None,
    allow_public: AllowPublic = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry papers of --papers that failed before.")
    ] = False,
    first: Annotated[
        bool, typer.Option("--first", help="If several papers have the title given as --paper, take the best match.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write the report of several papers to this file, as HTML.")] = None,
    llm: Annotated[
        str | None,
        typer.Option(help="Language model (llm.model, or o4-mini); 'none' uses static analysis and needs no key."),
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Maximum dollars per paper, including earlier builds.")
    ] = None,
    max_total_cost: Annotated[
        float | None,
        typer.Option(min=0, help="Maximum dollars for the whole graph, including earlier builds."),
    ] = None,
    with_: With = None,
    cpu: Cpu = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the questions that a build would ask and their estimated cost; ask nothing."
        ),
    ] = False,
    curated: Annotated[
        bool, typer.Option("--curate", help="Also build the papers that `xkg curate` finds around each paper.")
    ] = False,
    blacklist: Blacklisted = None,
    progress: Annotated[
        Literal["text", "json"], typer.Option(help="Format of progress on stderr: text or JSON lines.")
    ] = "text",
    within: Annotated[
        list[str] | None, typer.Option(hidden=True, help="Folders that may contain the repository; '' allows none.")
    ] = None,
    as_json: Json = False,
    help_all: HelpAll = False,  # noqa: ARG001  # its callback has ended the program
) -> None:
    """Build the graph of a paper and its repository, and publish it.

    Give several papers with one --repo each, in the same order: they are built --jobs at a time, and if some fail the
    others continue and the exit code is 3. --papers builds the papers of a list that are missing or changed. The API
    key is read from XKG_LLM_KEY or OPENAI_API_KEY; --llm none needs none."""
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
    """Raises `typer.BadParameter` for the first given option."""
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
    """Builds one paper and prints the result. Raises `InputError` if it is partial, and the errors of a build."""
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
    print_notes(result.notes)
    print_result(result, as_json)
    if result.unfinished:
        raise InputError(f"{result.paper}: {result.unfinished}")


def verify(
    context: typer.Context,
    papers: Papers = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Code nodes to run in parallel.")] = 2,
    stale: Annotated[str | None, typer.Option(help="Only code whose last run is older than this, such as 90d.")] = None,
    attest: Annotated[bool, typer.Option("--attest", help="Sign the levels for people who trust your key.")] = False,
    key: Annotated[
        Path | None,
        typer.Option(readable=False, help="Private key, or public key whose private half ssh-agent holds."),
    ] = None,
    with_: With = None,
    cpu: Cpu = None,
    as_json: Json = False,
) -> None:
    """Run the stored code and its tests again in the sandbox, and update the levels."""
    from xkg.commands import verify

    age = None if stale is None else verify.age(stale)
    settings = settings_of(context, environment=present(packages=with_ or None, cpu=cpu))
    result = verify.verify(
        settings, tuple(papers or ()), jobs, _show_node, age, attest=attest or key is not None, key=key
    )
    print_notes(result.notes)
    print_result(result, as_json)


def costs(
    context: typer.Context,
    papers: Papers = None,
    by: Annotated[Literal["paper", "stage", "model"], typer.Option(help="Group rows by this.")] = "paper",
    as_json: Json = False,
) -> None:
    """Show what the language model cost in all builds of this graph: calls, tokens, seconds, dollars."""
    from xkg.cli.display.costs import cost_table
    from xkg.commands.graph.open import ids_where_known
    from xkg.llm import costs

    settings = settings_of(context)
    bill = costs.costs(settings.kg, settings.llm, ids_where_known(settings, papers or ()), by)
    if as_json:
        print_result(bill, as_json)
    else:
        print_text(cost_table(bill))


def concepts(
    context: typer.Context,
    llm: Annotated[
        str | None, typer.Option(help="Language model (llm.model, or o4-mini); 'none' leaves open pairs open.")
    ] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Maximum dollars, including earlier runs.")] = None,
    as_json: Json = False,
) -> None:
    """Find techniques of different papers that are the same concept; a language model decides unclear pairs."""
    from xkg.commands.graph import link

    settings = settings_of(context, llm=present(model=llm, max_cost=max_cost))
    result = link.link(settings, None if settings.llm.model == "none" else lambda: link.model(settings))
    print_notes(result.notes)
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
