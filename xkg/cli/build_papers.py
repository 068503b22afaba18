"""Builds several papers with one display, and prints the report."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from xkg.cli.display.output import print_result, print_text
from xkg.errors import InputError

if TYPE_CHECKING:
    from xkg.commands.batch.paper_list import PaperList
    from xkg.config import Settings
    from xkg.engine.engine import Engine

SOME_FAILED = 3


def build_papers(
    settings: "Settings",
    papers: "PaperList",
    engine: "AbstractContextManager[Engine]",
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
    """Builds papers on an engine (`xkg.commands.batch.run.run`) and prints the report, with earlier `problems`. Raises
    the errors of `run`, and `typer.Exit` with `SOME_FAILED` if there were problems, or some papers failed or are
    partial."""
    from xkg.cli.display.batch import display, page, require_place, show
    from xkg.cli.display.progress import json_lines_of_papers
    from xkg.commands.batch.run import run

    if html is not None:
        require_place(html)
    with engine as opened:
        shown = json_lines_of_papers() if progress == "json" else display(len(papers.papers), opened.jobs)
        with shown as notify:
            report = run(
                settings,
                papers,
                opened,
                retry_failed=retry_failed,
                again=again,
                blacklist=blacklist,
                first=first,
                notify=notify,
            )
    report = report.model_copy(update={"notes": (*problems, *report.notes)})
    if as_json:
        print_result(report, as_json)
    else:
        show(report)
    if html is not None:
        try:
            page(report, html)
        except InputError as error:
            if not (report.failed or problems):
                raise
            print_text(f"xkg: {error}", err=True)
    if report.failed or problems:
        raise typer.Exit(SOME_FAILED)
