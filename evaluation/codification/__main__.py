"""Evaluates runs of `xkg implement`, and prints the published means for comparison. The results are counts, since
percentages of a few runs would be misleading.

    python -m evaluation.codification RUNS… [--judgements FILE.csv]
    python -m evaluation.codification RUNS… --judge NAME --judge NAME --llm MODEL --judgements FILE.csv

RUNS are folders of runs (`<graph>/runs`), or a single run. With `--judge`, each named judge reads every run
independently, and the rows are added to the judgements file.

The published means are from Gandhi et al., "ResearchCodeAgent", 2025."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evaluation.codification.judging import judged, judged_runs, judgements_in, write
from evaluation.codification.results import PUBLISHED, by_mode, runs_in
from evaluation.inputs.command import run_command
from xkg.config import load
from xkg.errors import InputError


def main(
    runs: Sequence[Path],
    *,
    judgements: Annotated[
        Path | None, typer.Option(help="CSV file with the columns run, judge, quality, edited, repaired")
    ] = None,
    judge: Annotated[list[str] | None, typer.Option(help="name of a judge; each judge is a model (repeatable)")] = None,
    llm: Annotated[str | None, typer.Option(help="model used by the judges")] = None,
) -> None:
    console = Console(highlight=False, soft_wrap=True, width=160)
    found = runs_in(runs)
    console.print(by_mode(found))
    console.print(PUBLISHED)
    if judge:
        if judgements is None:
            raise InputError("--judge needs a file to write to; pass --judgements FILE.csv")
        write(judged_runs(found, judge, load(llm={"model": llm} if llm else {})), judgements)
    if judgements:
        for line in judged(judgements_in(judgements), {run.folder.name: run for run in found}):
            console.print(line)


if __name__ == "__main__":
    run_command(main)
