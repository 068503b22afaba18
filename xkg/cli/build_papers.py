"""Builds several papers, shows their progress in one display, and prints the report."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from xkg.cli.display.output import json_of, print_text
from xkg.commands.engines import EngineFields, engine_of
from xkg.errors import InputError, SomeFailedError
from xkg.text.plural import plural

if TYPE_CHECKING:
    from xkg.commands.batch.paper_list import PaperList
    from xkg.config import Settings


def build_papers(
    settings: "Settings",
    papers: "PaperList",
    where: EngineFields,
    *,
    retry_failed: bool = False,
    again: bool = False,
    blacklist: Path | None = None,
    first: bool = False,
    html: Path | None = None,
    problems: Sequence[str] = (),
    progress: Literal["text", "json"] = "text",
    as_json: bool = False,
) -> None:
    """Builds papers with `xkg.commands.batch.run.run`, and prints the report, including earlier `problems`. Raises the
    same errors as `run`. Raises `SomeFailedError` if there are problems, or if some papers failed or were only partly
    built."""
    from xkg.cli.display.batch import page, require_place, show
    from xkg.cli.display.progress import json_lines, lines_of_papers
    from xkg.commands.batch.run import run

    if html is not None:
        require_place(html)
    with engine_of(where) as engine:
        shown = json_lines() if progress == "json" else lines_of_papers(len(papers.papers))
        with shown as notify:
            report = run(
                settings,
                papers,
                engine,
                retry_failed=retry_failed,
                again=again,
                blacklist=blacklist,
                first=first,
                notify=notify,
            )
    report = report.model_copy(update={"notes": (*problems, *report.notes)})
    if as_json:
        print_text(json_of(report.model_dump()))
    else:
        show(report)
    failed = report.failed + len(problems)
    if html is not None:
        try:
            page(report, html)
        except InputError as error:
            if not failed:
                raise
            print_text(f"xkg: {error}", err=True)
    if failed:
        raise SomeFailedError(f"{plural(failed, 'paper')} not built, or only partly; the reasons are above")
