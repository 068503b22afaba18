"""Runs every code node's test again and reports which still pass: `python -m evaluation.executability GRAPH`.

GRAPH is the folder of a graph, a folder of graph files (bundles or the peer's format), or one such file; it is only
read. Each node runs in its own sandboxes, earlier results are not used, and levels are checked as in `xkg verify`,
including mutants of the code. Packages come from the package index; environments are kept in --environments, so that
the next run need not fetch them again. In addition to `exits 0` over all nodes, the share of those that can run here is
reported: a missing package, a download or another language is not evidence against the code.

Intervals are over papers. `--against` pairs nodes with those of an earlier run by their ids, and so by the same
code."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evaluation.executability.figures import claims_of, claims_table, figures_of, scores_of
from evaluation.inputs.command import run_command
from evaluation.inputs.graph import MeasuredGraph, read_graph
from evaluation.results.document import Results
from evaluation.results.table import add_options, conclude, read_earlier
from xkg.build.verify import NodeResult, verify
from xkg.config import load
from xkg.errors import InputError
from xkg.sandbox.packages.environments import UvEnvironments
from xkg.sandbox.select import limits_for, runner_for, warmed


def run(graph: MeasuredGraph, jobs: int, seconds: float | None = None) -> list[NodeResult]:
    """The result of every code node, in the graph's order; prints one line on stderr for each. Raises `InputError` for
    a graph without code, and the errors of `xkg.build.verify.verify`."""
    count = sum(len(bundle.code) for bundle in graph.bundles)
    if not count:
        raise InputError(f"{graph.path}: no paper has code; give a graph that was built with a repository")
    settings = graph.settings or load(llm={"model": "none"})
    limits = limits_for(settings.sandbox)
    if seconds is not None:
        limits = limits.model_copy(update={"seconds": seconds})
    ended = 0

    def notify(result: NodeResult) -> None:
        nonlocal ended
        ended += 1
        print(f"{ended}/{count} {result.level} ({result.cause}) {result.code}", file=sys.stderr, flush=True)

    runner = runner_for(settings.sandbox)
    maker = UvEnvironments(settings.environment, runner)
    with tempfile.TemporaryDirectory(prefix="xkg-executability-") as folder, warmed(runner) as warm:
        return verify(graph.bundles, Path(folder), warm, maker, limits, jobs=jobs, notify=notify)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.executability",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("graph", type=Path)
    parser.add_argument("--paper", action="append", default=[], help="only this paper, by id or title; repeatable")
    parser.add_argument("--jobs", type=int, default=1, help="sandboxes at a time")
    parser.add_argument("--seconds", type=float, help="limit of one run, instead of the setting sandbox.seconds")
    add_options(parser)
    options = parser.parse_args(arguments)
    if options.jobs < 1 or (options.seconds is not None and not options.seconds > 0):
        raise InputError("--jobs must be 1 or more, --seconds above 0")
    read_earlier(options, "executability")
    graph = read_graph(options.graph, options.paper)
    results = run(graph, options.jobs, options.seconds)
    claims = claims_of(graph.bundles)
    print(claims_table(results, claims))
    print()
    conclude(
        Results(
            measure="executability",
            about={"graph": str(options.graph), "papers": str(len(graph.bundles)), "code nodes": str(len(results))},
            figures=tuple(figures_of(results, claims)),
            scores=scores_of(results, claims),
            details={
                "nodes": {
                    r.code: {"claimed": claims[r.code], "level": r.level, "cause": r.cause, "reason": r.evidence.reason}
                    for r in results
                }
            },
            problems=graph.problems,
        ),
        options,
    )


if __name__ == "__main__":
    run_command(main)
