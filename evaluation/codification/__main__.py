"""Evaluates runs of `xkg implement` next to the published means. It prints counts, not percentages of a few runs.

    python -m evaluation.codification RUNS… [--judgements FILE.csv]
    python -m evaluation.codification RUNS… --judge NAME --judge NAME --llm MODEL --judgements FILE.csv
    python -m evaluation.codification RUNS… --case NAME

RUNS are folders of runs (`<graph>/runs`), or a single run. With `--judge`, each named judge independently reads every
run, and the rows are added to the file of judgements. With `--case`, the property test of a case (`cases/NAME`) is run
on the code of every run. `python -m evaluation.codification.replay` restores removed
techniques of the example.

Published: Gandhi et al., "ResearchCodeAgent", 2025."""

import argparse
from pathlib import Path

from rich.console import Console

from evaluation.codification.judging import judged, judged_runs, judgements_in, write
from evaluation.codification.properties import properties
from evaluation.codification.results import PUBLISHED, by_mode, runs_in
from evaluation.inputs.command import run_command
from xkg.config import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, or of one")
    parser.add_argument("--judgements", type=Path, help="CSV of run, judge, quality, edited, repaired")
    parser.add_argument("--judge", action="append", default=[], help="name of a judge, who is a model")
    parser.add_argument("--llm", help="model of the judges")
    parser.add_argument("--case", help="case whose property test is run over the code")
    options = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console = Console(highlight=False, soft_wrap=True, width=160)
    runs = runs_in(options.runs)
    console.print(by_mode(runs))
    console.print(PUBLISHED)
    if options.judge:
        if options.judgements is None:
            parser.error("--judge needs a file for the rows: --judgements FILE.csv")
        write(
            judged_runs(runs, options.judge, load(llm={"model": options.llm} if options.llm else {})),
            options.judgements,
        )
    if options.judgements:
        for line in judged(judgements_in(options.judgements), {run.folder.name: run for run in runs}):
            console.print(line)
    if options.case:
        for run in runs:
            console.print(f"{run.arm}, class {run.result.result}: {properties(run.folder, options.case, load())}")


if __name__ == "__main__":
    run_command(main)
