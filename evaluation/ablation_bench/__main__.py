"""Creates the small benchmark, and reports results from logs.

    python -m evaluation.ablation_bench small PAPERS OUT [--graphs FOLDER]
    python -m evaluation.ablation_bench report LOG [--against LOG] [--json FILE]

PAPERS is a folder of <id>/paper.md files; --graphs is a folder of graphs of other papers. The exit status of `small` is
1 if an audit finds text that was cut off. --against is an earlier log for the same papers."""

from pathlib import Path
from typing import Literal

from evaluation.inputs.command import JsonFile, run_command
from evaluation.results.table import conclude


def main(
    action: Literal["small", "report"],
    source: Path,
    out: Path | None = None,
    *,
    graphs: Path | None = None,
    json: JsonFile = None,
    against: Path | None = None,
) -> int:
    if action == "small":
        from evaluation.ablation_bench.small import make, rows, with_reviews

        folder = out or Path("storage/ablation-bench")
        audits = make(source, graphs, folder, rows("golds.jsonl"))
        for audit in audits:
            print(audit)
        print(f"{with_reviews(source, folder)} papers with reviews, in {folder}")
        return 0 if all(audit.clean for audit in audits) else 1
    from evaluation.ablation_bench.report import read_results

    earlier = None if against is None else read_results(against)[0]
    results, table = read_results(source)
    print(", ".join(f"{name}: {value}" for name, value in results.about.items()), table, sep="\n", end="\n\n")
    conclude(results, json, earlier, beside=False)
    return 0


if __name__ == "__main__":
    run_command(main)
