"""Contexts for agents that replicate papers: `python -m evaluation.export_context --kg DIR --out FOLDER TASKS`.

TASKS is a folder of tasks, each with `paper.md` and `blacklist.txt`, or one such task. For each, FOLDER/<task> gets

    guide.json          the planning file: the paper's techniques, in the peer's format, without code
    pairs.json          for each of them at most -k code nodes of other papers that may help with it
    planning.md, implementation.md    the same two as Markdown, for fixed workflows
    audit.json          what was withheld because the blacklist names it, and what could not be compared

The planning file is made from `paper.md` alone, with the configured model or --llm (`none`: without a model). The exit
status is 1 if the audit of the written files finds an entry of the blacklist."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evaluation.inputs.command import run_command
from evaluation.inputs.graph import check_graph
from evaluation.paperbench.export import LEAST_SCORE, export, tasks_in
from evaluation.results.table import aligned
from xkg.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.export_context",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("-k", type=int, default=3, help="code nodes for each technique (%(default)s)")
    parser.add_argument(
        "--least-score", type=float, default=LEAST_SCORE, help="of a code node, 0 to 1; 0 gives -k always (%(default)s)"
    )
    parser.add_argument("--budget-tokens", type=int, default=8000, help="of planning.md (%(default)s)")
    parser.add_argument("--llm", help="name of the language model that reads paper.md, or none (default: the setting)")
    options = parser.parse_args(arguments)
    if options.k < 1 or options.budget_tokens < 1:
        raise InputError("-k and --budget-tokens must be 1 or more")
    check_graph(options.kg)  # before a paper is built, which may cost money
    found, problems = tasks_in(options.tasks)
    rows: list[tuple[str, ...]] = [("task", "techniques", "pairs", "without code", "withheld", "not compared", "audit")]
    clean = True
    for task in found:
        made = export(
            task,
            options.kg,
            options.out,
            k=options.k,
            least_score=options.least_score,
            budget_tokens=options.budget_tokens,
            llm=options.llm,
            say=lambda line: print(line, file=sys.stderr, flush=True),
        )
        clean &= made.clean
        counts = (made.techniques, made.pairs, made.without_code, len(made.withheld), len(made.unchecked))
        rows.append((made.task, *map(str, counts), "clean" if made.clean else "LEAK"))
    print(aligned(rows, left={0}))
    for problem in problems:
        print(f"left out: {problem}")
    return 0 if clean else 1


if __name__ == "__main__":
    run_command(main)
