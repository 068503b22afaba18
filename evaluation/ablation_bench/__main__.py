"""Makes the small benchmark, extracts plans from logs, and reports the results of logs.

python -m evaluation.ablation_bench small PAPERS OUT [--graphs FOLDER]
python -m evaluation.ablation_bench plans LOG OUT
python -m evaluation.ablation_bench report LOG [LOG …] [--against LOG] [--json]
"""

import argparse
import json
import sys
from pathlib import Path

from evaluation.ablation_bench.instances.small import gold_papers, make, with_reviews
from evaluation.ablation_bench.scores.report import as_json, as_text, overall, plans_of, read_log, read_run
from evaluation.inputs.command import run_command
from xkg.cli.display.wording import for_people
from xkg.errors import XkgError


def main() -> int:
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m evaluation.ablation_bench", description=about)
    commands = parser.add_subparsers(dest="command", required=True)
    small = commands.add_parser(
        "small", help="cut papers, their instances and their graph; 1 where an audit finds text"
    )
    small.add_argument("papers", type=Path, help="folder of <id>/paper.md")
    small.add_argument("out", type=Path)
    small.add_argument("--graphs", type=Path, help="graphs of other papers, to import beside them")
    plans = commands.add_parser("plans", help="the plans of a log as <id>.jsonl")
    plans.add_argument("log", type=Path)
    plans.add_argument("out", type=Path)
    report = commands.add_parser("report", help="scores, costs and problems of logs")
    report.add_argument("logs", type=Path, nargs="+")
    report.add_argument("--against", type=Path, help="an earlier log of the same papers")
    report.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        return _run(given)
    except (OSError, ValueError, XkgError) as error:
        print(f"ablation_bench: {for_people(str(error))}", file=sys.stderr)
        return 1


def _run(given: argparse.Namespace) -> int:
    if given.command == "small":
        return _small(given.papers, given.graphs, given.out)
    if given.command == "plans":
        given.out.mkdir(parents=True, exist_ok=True)
        for paper, plan in plans_of(read_log(given.log)).items():
            (given.out / f"{Path(paper).name}.jsonl").write_text(plan, encoding="utf-8")
    else:
        _report(given.logs, given.against, given.json)
    return 0


def _small(papers: Path, graphs: Path | None, out: Path) -> int:
    audits = make(papers, graphs, out, gold_papers())
    for audit in audits:
        found = (
            f"{audit.shared} runs of words from the rest ({audit.example})" if audit.shared else "nothing of the rest"
        )
        print(
            f"{audit.paper}: {audit.words} words in {audit.texts} texts of the graph: {found}; "
            f"{audit.repositories} nodes of code, {audit.findings} findings"
        )
    print(f"{with_reviews(papers, out)} papers with reviews")
    return 0 if all(audit.clean for audit in audits) else 1


def _report(logs: list[Path], against: Path | None, as_data: bool) -> None:
    runs = [read_run(log) for log in logs]
    other = None if against is None else read_run(against)
    if as_data:
        print(json.dumps([as_json(run, other) for run in runs], indent=2))
        return
    print("\n\n".join(as_text(run, other) for run in runs))
    if (mean := overall(runs)) is not None:
        print(f"\nmean F1 of both tasks: {mean:.3f}")


if __name__ == "__main__":
    run_command(main)
