"""The gain from the graph: `python -m evaluation.paperbench.gains --without LOG… --with LOG… [--labels FILE]`.

Logs are those of the tasks in `tasks.py` (several runs of a paper are averaged; three or more also give best@3), or
result files with one score per paper (`--score`, of other benchmarks). LABELS is a JSON object by paper, {"fre":
{"domain": "reinforcement learning", "failure_mode": "over-reliance on retrieved code"}}. The published study (arXiv
2510.17795) reports its gains by paper and by domain, and names two ways in which a graph can do harm, `over-reliance on
retrieved code` and `over-focus on core components`; a reader judges which applies. Papers without a label form a
separate group."""

import argparse
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.inputs.command import run_command
from evaluation.inputs.rows import read_json
from evaluation.results.compare import paired
from evaluation.results.document import Results, mean_figure
from evaluation.results.document import read as read_results
from evaluation.results.table import add_options, aligned, conclude, read_earlier
from evaluation.study.summary import BEST_OF, best_at
from xkg.errors import InputError

UNLABELLED = "not labelled"


def read_runs(paths: Sequence[Path], score: str) -> tuple[dict[str, list[float]], list[str]]:
    """The score of each run of each paper in logs and result files, and one line for each sample without a score.
    Raises `InputError` for a file that is neither."""
    scores: dict[str, list[float]] = {}
    problems: list[str] = []
    for path in paths:
        found, wrong = _from_log(path) if path.suffix == ".eval" else (_from_results(path, score), [])
        problems += wrong
        for paper, value in found:
            scores.setdefault(paper, []).append(value)
    return dict(sorted(scores.items())), problems


def _from_log(path: Path) -> tuple[list[tuple[str, float]], list[str]]:
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(str(path))
    except Exception as error:  # the library lets any exception of its parts through
        raise InputError(f"{path}: is no log of Inspect ({str(error)[:120]}); give a .eval log") from error
    found, problems = [], []
    for sample in log.samples or ():
        score = next(iter((sample.scores or {}).values()), None)
        if score is None or not isinstance(score.value, (int, float)):
            why = sample.error.message[:120] if sample.error else "it was not scored"
            problems.append(f"{path}: {sample.id} has no score: {why}")
        else:
            found.append((str(sample.id), float(score.value)))
    return found, problems


def conditions(path: Path) -> dict[str, str]:
    """Agent, models and graph of a log; empty for a file of results."""
    from inspect_ai.log import read_eval_log

    if path.suffix != ".eval":
        return {}
    ran = read_eval_log(str(path), header_only=True).eval
    grader = (ran.model_roles or {}).get("grader")
    first = grader[0] if isinstance(grader, list) else grader
    given = ran.task_args.get("kg") or ran.task_args.get("contexts")
    return {
        "agent": ran.task.rpartition("/")[2],
        "model": ran.model,
        "grader": first.model if first else ran.model,
        "graph": "with" if given else "without",
    }


def unequal(without: Sequence[Path], with_graph: Sequence[Path]) -> list[str]:
    """One line for each difference between the two sides other than the graph, and for a log on the wrong side."""
    sides = {"without": list(map(conditions, without)), "with": list(map(conditions, with_graph))}
    found = []
    for name in ("agent", "model", "grader"):
        values = {side: {log[name] for log in logs if log} for side, logs in sides.items()}
        if all(values.values()) and values["without"] != values["with"]:
            here, there = (" and ".join(sorted(values[side])) for side in ("without", "with"))
            found.append(
                f"the {name} differs: {here} without the graph, {there} with it, so the gain is not the graph's"
            )
    for side, logs in sides.items():
        found += [f"a log of --{side} ran {log['graph']} a graph" for log in logs if log and log["graph"] != side]
    return found


def _from_results(path: Path, score: str) -> list[tuple[str, float]]:
    results = read_results(path)
    if score not in results.scores:
        known = ", ".join(results.scores) or "none"
        raise InputError(f"{path}: has no score {score!r}; name one with --score ({known})")
    return list(results.scores[score].items())


def read_labels(path: Path | None) -> Mapping[str, Mapping[str, str]]:
    """The labels by paper. Raises `InputError` for a file with another structure."""
    if path is None:
        return {}
    value: Any = read_json(path)
    right = isinstance(value, dict) and all(
        isinstance(labels, dict) and all(isinstance(label, str) for label in labels.values())
        for labels in value.values()
    )
    if not right:
        raise InputError(f"{path}: is no object of labels by paper, each an object of texts; correct it")
    return dict(value)


def papers_table(without: Mapping[str, float], with_graph: Mapping[str, float]) -> str:
    """One line per paper that both sides have, the largest gain first."""
    rows = [("paper", "without", "with", "gain")]
    for paper in sorted(without.keys() & with_graph.keys(), key=lambda p: (without[p] - with_graph[p], p)):
        gain = with_graph[paper] - without[paper]
        rows.append((paper, f"{without[paper]:.3f}", f"{with_graph[paper]:.3f}", f"{gain:+.3f}"))
    return aligned(rows, left={0})


def groups_table(
    without: Mapping[str, float], with_graph: Mapping[str, float], labels: Mapping[str, Mapping[str, str]], key: str
) -> str:
    """One line per label of this key: papers, means and gain, with its interval if there are several papers."""
    groups: dict[str, list[str]] = {}
    for paper in sorted(without.keys() & with_graph.keys()):
        groups.setdefault(labels.get(paper, {}).get(key) or UNLABELLED, []).append(paper)
    rows = [(key.replace("_", " "), "papers", "without", "with", "gain", "95 % interval")]
    for label, papers in sorted(groups.items()):
        row = paired(label, {p: without[p] for p in papers}, {p: with_graph[p] for p in papers}, str)
        spread = "" if row.low is None or row.high is None else f"{row.low:+.3f} to {row.high:+.3f}"
        rows.append((label, str(len(papers)), f"{row.before:.3f}", f"{row.now:.3f}", f"{row.difference:+.3f}", spread))
    return aligned(rows, left={0})


def best_gains(
    without: Mapping[str, Sequence[float]], with_graph: Mapping[str, Sequence[float]]
) -> dict[str, tuple[float, float]]:
    """best@3 without and with the graph, by paper, for papers with enough runs on both sides."""
    both = {
        paper: (best_at(without[paper]), best_at(with_graph[paper])) for paper in without.keys() & with_graph.keys()
    }
    return {paper: (a, b) for paper, (a, b) in both.items() if a is not None and b is not None}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.paperbench.gains",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--without", nargs="+", type=Path, required=True, metavar="LOG")
    parser.add_argument("--with", dest="with_graph", nargs="+", type=Path, required=True, metavar="LOG")
    parser.add_argument("--labels", type=Path)
    parser.add_argument("--score", default="score", help="name of the score in files of results (%(default)s)")
    add_options(parser)
    options = parser.parse_args(arguments)
    read_earlier(options, "gains")
    runs_without, wrong = read_runs(options.without, options.score)
    runs_with, wrong_with = read_runs(options.with_graph, options.score)
    without, with_graph = (
        {paper: statistics.fmean(values) for paper, values in runs.items()} for runs in (runs_without, runs_with)
    )
    labels = read_labels(options.labels)
    if not without.keys() & with_graph.keys():
        raise InputError("no paper has a score with and without the graph: give logs of the same tasks")
    gains = {paper: with_graph[paper] - without[paper] for paper in without.keys() & with_graph.keys()}
    print(papers_table(without, with_graph), end="\n\n")
    for key in ("domain", "failure_mode"):
        print(groups_table(without, with_graph, labels, key), end="\n\n")
    alone = sorted(without.keys() ^ with_graph.keys())
    graders = {log["grader"] for log in map(conditions, (*options.without, *options.with_graph)) if log}
    source = f"judge: {', '.join(sorted(graders))}" if graders else "judge"
    figures = [
        mean_figure("without the graph", without, source=source),
        mean_figure("with the graph", with_graph, source=source),
        mean_figure("gain", gains, unit="number", source=source),
    ]
    best = best_gains(runs_without, runs_with)
    of_best = {paper: b - a for paper, (a, b) in best.items()}
    if best:
        figures += [
            mean_figure(f"best@{BEST_OF} without the graph", {p: a for p, (a, _) in best.items()}, source=source),
            mean_figure(f"best@{BEST_OF} with the graph", {p: b for p, (_, b) in best.items()}, source=source),
            mean_figure(f"gain of best@{BEST_OF}", of_best, unit="number", source=source),
        ]
    else:
        print(f"best@{BEST_OF} needs {BEST_OF} runs of a paper on each side: give the logs of all of them", end="\n\n")
    differ = unequal(options.without, options.with_graph)
    conclude(
        Results(
            measure="gains",
            about={"without": " ".join(map(str, options.without)), "with": " ".join(map(str, options.with_graph))},
            figures=tuple(figures),
            scores={"without": without, "with": with_graph, "gain": gains, f"gain of best@{BEST_OF}": of_best},
            problems=(*differ, *wrong, *wrong_with, *(f"{paper}: scored on one side alone" for paper in alone)),
        ),
        options,
        beside=False,
    )


if __name__ == "__main__":
    run_command(main)
