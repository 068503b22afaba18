"""Computes the gain from the graph: `python -m evaluation.paperbench.gains --without LOG --with LOG [--labels FILE]`.

Logs are from the tasks in `tasks.py`, or are result files from other benchmarks with one score per paper (`score`).
Repeat the options for several runs, whose scores are averaged by paper. With three or more runs, best@3 is also
computed. LABELS is a JSON object keyed by paper:

    {"fre": {"domain": "reinforcement learning", "failure_mode": "over-reliance on retrieved code"}}

The published study (arXiv 2510.17795) reports its gains by paper and by domain. The study describes two ways in which a
graph can do harm: `over-reliance on retrieved code` and `over-focus on core components`. A human reader decides which
label applies to a paper. Papers without a label form a separate group."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from evaluation.inputs.command import Earlier, JsonFile, run_command
from evaluation.inputs.inspect_tasks import read_log
from evaluation.inputs.rows import first_error, read_json
from evaluation.results.document import Results, mean_figure, read
from evaluation.results.statistics import paired
from evaluation.results.table import aligned, conclude, difference, read_earlier
from evaluation.study.summary import BEST_OF, best_at
from xkg.errors import InputError

SCORE = "score"
Labels = dict[str, dict[str, str]]


def read_runs(paths: Sequence[Path]) -> tuple[dict[str, list[float]], list[str]]:
    """Returns each paper's score in each run from logs and result files, and one line for each sample without a score.
    Raises `InputError` for any other file."""
    scores: dict[str, list[float]] = {}
    problems: list[str] = []
    for path in paths:
        if path.suffix != ".eval":
            for paper, value in read(path).scores.get(SCORE, {}).items():
                scores.setdefault(paper, []).append(value)
            continue
        for sample in read_log(path).samples or ():
            score = next(iter((sample.scores or {}).values()), None)
            if score is None or not isinstance(score.value, (int, float)):
                why = sample.error.message[:120] if sample.error else "it was not scored"
                problems.append(f"{path}: {sample.id} has no score: {why}")
            else:
                scores.setdefault(str(sample.id), []).append(float(score.value))
    return dict(sorted(scores.items())), problems


def conditions(path: Path) -> dict[str, str]:
    """Returns the agent, models and graph recorded in a log, or nothing for a results file."""
    if path.suffix != ".eval":
        return {}
    ran = read_log(path, header_only=True).eval
    grader = (ran.model_roles or {}).get("grader")
    first = grader[0] if isinstance(grader, list) else grader
    return {
        "agent": ran.task.rpartition("/")[2],
        "model": ran.model,
        "grader": first.model if first else ran.model,
        "graph": "with" if ran.task_args.get("kg") or ran.task_args.get("contexts") else "without",
    }


def unequal(without: Sequence[dict[str, str]], with_graph: Sequence[dict[str, str]]) -> list[str]:
    """Returns one line for each difference between the two groups of logs other than the graph, and one line for each
    log in the wrong group."""
    found = []
    for name in ("agent", "model", "grader"):
        here, there = ({log[name] for log in logs if log} for logs in (without, with_graph))
        if here and there and here != there:
            words = f"{' and '.join(sorted(here))} without the graph, {' and '.join(sorted(there))} with it"
            found.append(f"the {name} differs: {words}, so the gain may not come from the graph")
    for side, logs in (("without", without), ("with", with_graph)):
        found += [f"a log of --{side} ran {log['graph']} a graph" for log in logs if log and log["graph"] != side]
    return found


def read_labels(path: Path | None) -> Labels:
    """Returns the labels, keyed by paper. Raises `InputError` if the file has a different structure."""
    try:
        return {} if path is None else TypeAdapter(Labels).validate_python(read_json(path))
    except ValidationError as error:
        raise InputError(f"{path}: {first_error(error)}; pass an object that maps papers to labels") from error


def gain_table(key: str, without: dict[str, float], with_graph: dict[str, float], labels: Labels) -> str:
    """Formats one line per value of the label `key`, or one line per paper if `key` is `paper`. The gain has a
    confidence interval if there are several papers."""
    groups: dict[str, list[str]] = {}
    for paper in sorted(without.keys() & with_graph.keys()):
        label = paper if key == "paper" else labels.get(paper, {}).get(key) or "not labelled"
        groups.setdefault(label, []).append(paper)
    rows: list[tuple[str, ...]] = [(key.replace("_", " "), "papers", "without", "with", "gain", "95 % interval")]
    for label, papers in sorted(groups.items()):
        row = paired(label, {p: without[p] for p in papers}, {p: with_graph[p] for p in papers}, str)
        rows.append((label, str(len(papers)), f"{row.before:.3f}", f"{row.now:.3f}", *difference(row)[:2]))
    return aligned(rows, left={0})


def main(
    *,
    without: Sequence[Path],
    with_graph: Annotated[list[Path], typer.Option("--with")],
    labels: Path | None = None,
    json: JsonFile = None,
    against: Earlier = None,
) -> None:
    earlier = read_earlier(against, "gains")
    runs, wrong = read_runs(without)
    runs_with, wrong_with = read_runs(with_graph)
    before, now = ({paper: fmean(values) for paper, values in each.items()} for each in (runs, runs_with))
    known = read_labels(labels)
    both = before.keys() & now.keys()
    if not both:
        raise InputError("no paper has a score with and without the graph; pass logs of the same tasks")
    for key in ("paper", "domain", "failure_mode"):
        print(gain_table(key, before, now, known), end="\n\n")
    ran, ran_with = (list(map(conditions, paths)) for paths in (without, with_graph))
    graders = {log["grader"] for log in (*ran, *ran_with) if log}
    source = f"judge: {', '.join(sorted(graders))}" if graders else "judge"
    scores = {"without": before, "with": now, "gain": {paper: now[paper] - before[paper] for paper in both}}
    best = {
        p: (best_at(runs[p]), best_at(runs_with[p])) for p in both if min(len(runs[p]), len(runs_with[p])) >= BEST_OF
    }
    if best:
        scores[f"best@{BEST_OF} without"] = {paper: a or 0.0 for paper, (a, _) in best.items()}
        scores[f"best@{BEST_OF} with"] = {paper: b or 0.0 for paper, (_, b) in best.items()}
        scores[f"gain of best@{BEST_OF}"] = {paper: (b or 0.0) - (a or 0.0) for paper, (a, b) in best.items()}
    else:
        print(f"best@{BEST_OF} needs {BEST_OF} runs per paper on each side; pass the logs of all runs", end="\n\n")
    alone = [f"{paper}: scored on only one side" for paper in sorted(before.keys() ^ now.keys())]
    conclude(
        Results(
            measure="gains",
            about={"without": " ".join(map(str, without)), "with": " ".join(map(str, with_graph))},
            figures=tuple(
                mean_figure(name, of, unit="number" if "gain" in name else "share", source=source)
                for name, of in scores.items()
            ),
            scores=scores,
            problems=(*unequal(ran, ran_with), *wrong, *wrong_with, *alone),
        ),
        json,
        earlier,
        beside=False,
    )


if __name__ == "__main__":
    run_command(main)
