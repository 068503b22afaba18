"""Ablations of the graph with any score that a command prints:

    python -m evaluation.study --kg DIR --paper ID --runs 3 --out FOLDER -- COMMAND…

Variants, as published: the full graph; without paper, code or technique nodes; raw, rewritten or verified code; and
without a graph. For each variant and paper, both views are written to FOLDER, then the command runs `--runs` times. In
its words, {planning} and {implementation} are replaced with these files, {folder} with their folder, and {paper},
{variant} and {run} with their values; the environment has the same as XKG_STUDY_PLANNING and so on. The score is the
last printed line that is a number or a JSON object with `score`. Finished runs are stored in FOLDER and reused while
command and context are the same.

A failed run is counted and has no score. Differences from the full graph pair runs of the same paper and number.
Intervals and tests are over papers (`evaluation/results/compare.py`). In a study of one paper they are over its runs,
and do not generalise to others."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import xkg
from evaluation.inputs.command import run_command
from evaluation.inputs.graph import check_graph
from evaluation.results.document import Results, mean_figure
from evaluation.results.table import add_options, conclude, read_earlier
from evaluation.study.runs import Run, run
from evaluation.study.summary import scores, table
from evaluation.study.variants import VARIANTS, Variant, chosen, write_context
from xkg.errors import InputError
from xkg.model import slug


def study(
    kg: Path,
    papers: Sequence[str],
    variants: Sequence[Variant],
    command: Sequence[str],
    folder: Path,
    *,
    runs: int,
    budget_tokens: int,
    seconds: float,
) -> tuple[dict[str, list[Run]], list[str]]:
    """The runs by variant, and the variants that should have code but had none. Raises `InputError` if a context cannot
    be made or the command cannot be started."""
    found: dict[str, list[Run]] = {variant.name: [] for variant in variants}
    notes: list[str] = []
    with xkg.open(kg) as graph:
        ids = [graph.paper(paper).id for paper in papers] or [paper.id for paper in graph.papers()]
        for variant in variants:
            bare = 0
            for paper in ids:
                context = folder / slug(variant.name) / slug(paper)
                bare += write_context(graph, paper, variant, budget_tokens, context) == 0
                for number in range(1, runs + 1):
                    made = run(command, variant.name, paper, number, context, folder / "runs", seconds)
                    found[variant.name].append(made)
                    outcome = made.problem or f"{made.score:g}"
                    print(f"{variant.name}, {paper}, run {number}: {outcome}", file=sys.stderr, flush=True)
            if bare and "code" in variant.include:
                notes.append(f"{variant.name}: the graph has no code in this form for {bare} of {len(ids)} papers")
    return found, notes


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--paper", action="append", default=[], help="id or title; repeatable (none: all)")
    parser.add_argument("--variant", action="append", default=[], choices=[v.name for v in VARIANTS])
    parser.add_argument("--runs", type=int, default=3, help="runs of each variant and paper (%(default)s)")
    parser.add_argument("--budget-tokens", type=int, default=8000, help="of each view (%(default)s)")
    parser.add_argument("--seconds", type=float, default=3600, help="limit of one run (%(default)s)")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("command", nargs="+", help="what is run, after --")
    add_options(parser)
    options = parser.parse_args(arguments)
    read_earlier(options, "study")
    if options.runs < 1 or not options.seconds > 0:
        raise InputError("--runs must be 1 or more, --seconds above 0")
    check_graph(options.kg)
    made, notes = study(
        options.kg,
        options.paper,
        chosen(options.variant),
        options.command,
        options.out,
        runs=options.runs,
        budget_tokens=options.budget_tokens,
        seconds=options.seconds,
    )
    print(table(made))
    print()
    by_variant = {name: scores(of_variant) for name, of_variant in made.items()}
    figures = [mean_figure(name, values, unit="number", source="command") for name, values in by_variant.items()]
    problems = [f"{r.variant}, {r.paper}, run {r.number}: {r.problem}" for rs in made.values() for r in rs if r.problem]
    conclude(
        Results(
            measure="study",
            about={"graph": str(options.kg), "command": " ".join(options.command), "runs": str(options.runs)},
            figures=tuple(figures),
            scores=by_variant,
            problems=(*notes, *problems),
        ),
        options,
        beside=False,
    )
    if not any(by_variant.values()):
        raise InputError("no run has a score: correct the command after --")


if __name__ == "__main__":
    run_command(main)
