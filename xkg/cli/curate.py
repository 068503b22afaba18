"""Implements the commands for choosing a graph's papers: curate and check-blacklist."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xkg.cli.build_papers import build_papers
from xkg.cli.command import command
from xkg.cli.display.output import Blacklisted, Json, ProgressForm, print_result, print_text
from xkg.commands.engines import EngineFields
from xkg.errors import InputError, SomeFailedError
from xkg.text.plural import plural

if TYPE_CHECKING:
    from xkg.build.curation.curated_set import CuratedPaper, CuratedSet
    from xkg.commands.batch.paper_list import PaperList
    from xkg.commands.graph.audit import AuditResult
    from xkg.config import Settings

_DROPPED = 12


@command(
    llm="Language model (default: llm.model, or o4-mini); 'none' ranks by citations and vectors.",
    max_cost="Maximum cost for this target in dollars, including earlier runs.",
)
def curate(
    settings: "Settings",
    *,
    target: Annotated[str, typer.Argument(help="Paper, in any form that `xkg build --paper` accepts.")],
    most: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of papers.")] = 10,
    where: EngineFields,
    blacklist: Blacklisted = None,
    paper_id: Annotated[str | None, typer.Option("--id", help="Id of the target, such as arxiv:2402.17135.")] = None,
    build: Annotated[bool, typer.Option("--build", help="Also build the papers that are found.")] = False,
    progress: ProgressForm = "text",
    as_json: Json = False,
) -> None:
    """Find related papers and repositories worth building alongside a paper, and explain the choice.

    Queries arXiv, OpenAlex and GitHub. Builds nothing unless --build is given. Exits with 3 if nothing was found and a
    source was unreachable, or if some papers failed."""
    from xkg.cli.display.progress import json_lines
    from xkg.commands import curate

    with json_lines() if progress == "json" else nullcontext(lambda _: None) as called:
        curated = curate.curate(
            settings,
            target,
            most=most,
            blacklist=blacklist,
            paper_id=paper_id,
            notify=lambda line: print_text(line, err=True),
            called=called,
        )
    if as_json and not build:
        print_result(curated, as_json)
    else:
        print_text(table(curated), err=as_json)
    if build:
        from xkg.commands.batch.paper_list import paper_list

        papers = paper_list((paper, repository, None, record) for paper, repository, record in curated.pairs())
        build_papers(settings, papers, where, again=True, blacklist=blacklist, as_json=as_json)
    if curated.notes and not curated.papers:
        raise SomeFailedError("nothing was found, but not every source answered; see the notes, and try again")


def with_curated(
    settings: "Settings", listed: "PaperList", blacklist: Path | None
) -> "tuple[PaperList, tuple[str, ...]]":
    """Curates each listed paper. Returns the list extended with the papers found, and one line for each paper that
    could not be curated. Prints the tables on stderr."""
    from xkg.commands import curate
    from xkg.commands.batch.paper_list import paper_list

    named = [(each.paper, each.repository, each.paper_id, each.record) for each in listed.papers]
    problems: list[str] = []
    for each in listed.papers:
        try:
            found = curate.curate(
                settings,
                each.paper,
                blacklist=blacklist,
                paper_id=each.paper_id,
                notify=lambda line: print_text(line, err=True),
            )
        except InputError as error:
            problems.append(f"nothing was curated around {each.paper}: {error}")
            continue
        print_text(table(found), err=True)
        named += [(paper, repository, None, record) for paper, repository, record in found.pairs()]
    return paper_list(named).model_copy(update={"broken": listed.broken}), tuple(problems)


def table(curated: "CuratedSet") -> str:
    """Renders a curated set as text: the chosen papers, then the dropped ones, each with reasons."""
    by = f"with {curated.by}" if curated.by else "without a language model, by citations and vectors"
    lines = [f"{curated.title or curated.target} ({curated.target}), curated {by}", ""]
    lines += [f"technique  {each.name}" + (f"  ({each.why})" if each.why else "") for each in curated.techniques]
    for number, paper in enumerate(curated.papers, start=1):
        lines += ["", f"{number:>2}  {paper.title}", *(f"      {line}" for line in _about(paper))]
    if not curated.papers:
        lines += ["", "no paper with its own repository was found"]
    if curated.dropped:
        more = f", the first {_DROPPED}" if len(curated.dropped) > _DROPPED else ""
        lines += ["", f"dropped {plural(len(curated.dropped), 'paper')}{more}:"]
        lines += [f"  {paper.title[:90]}: {paper.dropped}" for paper in curated.dropped[:_DROPPED]]
    lines += ["", *(f"note: {line}" for line in curated.notes)] if curated.notes else []
    return "\n".join(lines)


def _about(paper: "CuratedPaper") -> list[str]:
    scores = ", ".join(f"{name} {value:.2f}" for name, value in paper.scores.items())
    lines = [
        f"arXiv:{paper.arxiv_id}, {(paper.published or '')[:4]}; {paper.origin}; for {paper.technique}",
        f"score {paper.score:.2f} ({scores}); {paper.why}",
        f"identified: {paper.identified}",
    ]
    repository = paper.repository
    if repository is not None:
        facts = [
            repository.license or "no licence known",
            f"{repository.stars} stars" if repository.stars is not None else "",
            "archived" if repository.archived else "",
            f"{repository.default_branch} at {repository.commit[:12]}" if repository.commit else "no commit known",
        ]
        lines.append(f"{repository.url}: {', '.join(filter(None, facts))}")
        lines += [f"  {line}" for line in repository.evidence]
    return lines


@command()
def check_blacklist(
    settings: "Settings",
    blacklist: Annotated[Path, typer.Argument(help="File that lists repositories and papers, one per line.")],
    log: Annotated[
        list[Path] | None, typer.Option(help="File that contains answers, such as an agent's log (repeatable).")
    ] = None,
) -> "AuditResult":
    """Check that a graph and answer logs contain nothing from a blacklist, and fail if they do.

    Fetches the blacklisted repositories to compare them with the graph's repositories."""
    from xkg.commands.graph.audit import audit

    return audit(settings, blacklist, log or ())
