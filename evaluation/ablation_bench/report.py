"""Reports the results in the tasks' logs: scores (also by action), dollars, and the number of errors of each kind."""

import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample

from evaluation.ablation_bench.judge import ROLE
from evaluation.ablation_bench.metrics import MOST_K, program_scores
from evaluation.inputs.inspect_tasks import read_log
from evaluation.results.document import Figure, Results, mean_figure
from evaluation.results.table import aligned
from xkg.errors import InputError

_ACTIONS = ("REMOVE", "REPLACE", "ADD")


def read_results(path: Path) -> tuple[Results, str]:
    """Returns a log's results, and a table of the scores at each k. A paper whose planner or judge failed scores 0.
    Raises `InputError` for a file that is not a log, or for a log without scores."""
    log = read_log(path)
    task, known = log.eval.task.rpartition("/")[2], log.eval.metadata or {}
    samples = list(log.samples or ())
    judged = {str(s.id): found for s in samples if not s.error and (found := _metadata(s))}
    failed = {str(s.id): s.error.message.split("\n")[0][:200] for s in samples if s.error}
    if not judged and not failed:
        raise InputError(f"{path} has no scores; run it without --no-score, or `inspect score` it")
    k = int(known.get("k", MOST_K))
    measures = ("precision", "recall", "f1", *(("ndcg",) if task == "author" else ()))

    def at(k: int, measure: str) -> dict[str, float]:
        found = {paper: float(each["by_k"][str(k)][measure]) for paper, each in judged.items()}
        return found | dict.fromkeys(failed, 0.0)

    scores = {measure: at(min(k, MOST_K), measure) for measure in measures}
    judge = _judge(log)
    figures = [mean_figure(name, of, unit="number", source=judge) for name, of in scores.items()]
    if task == "author":
        figures += _by_program(judged, failed, k) + _by_action(list(judged.values()), k)
    figures += _dollars(samples)
    counted: Counter[str] = Counter(known.get("rows", {}))
    for each in judged.values():
        counted.update(each["problems"])
    problems = [f"{count} x {kind}" for kind, count in counted.items()]
    problems += [f"{paper}: {cut}" for paper, each in judged.items() for cut in each["cut"]]
    problems += [f"{paper} failed: {why}" for paper, why in failed.items()]
    about = {"task": task, "model": log.eval.model, "planner": str(known.get("planner", "")), "k": str(k)}
    about |= {"graph": "with" if known.get("graph") else "without", "judge": judge}
    rows = [("", *measures)]
    rows += [
        (f"@{n}", *(f"{statistics.fmean(at(n, measure).values()):.3f}" for measure in measures))
        for n in range(1, min(k, MOST_K) + 1)
    ]
    rows += [(paper, *(f"{scores[measure][paper]:.3f}" for measure in measures)) for paper in scores["f1"]]
    measure = f"ablation bench, {task}"
    results = Results(measure=measure, about=about, figures=tuple(figures), scores=scores, problems=tuple(problems))
    return results, aligned(rows, left={0})


def _metadata(sample: EvalSample) -> dict[str, Any] | None:
    score = next(iter((sample.scores or {}).values()), None)
    return score.metadata if score is not None else None


def _judge(log: EvalLog) -> str:
    given = (log.eval.model_roles or {}).get(ROLE)
    first = given[0] if isinstance(given, list) else given
    return f"judge: {first.model if first else f'{log.eval.model}, the same model as the planner'}"


def _by_program(judged: dict[str, dict[str, Any]], failed: dict[str, str], k: int) -> list[Figure]:
    """Returns the author task's scores, counted as in the benchmark's leaderboard (`metrics.program_scores`)."""
    found = {p: program_scores(list(e["plan"]), list(e["golds"]), e["matches"], k) for p, e in judged.items()}
    none = dict.fromkeys(failed, 0.0)
    return [
        mean_figure(f"{m}, by the benchmark's program", {p: of[m] for p, of in found.items()} | none, unit="number")
        for m in ("precision", "recall", "f1", "ndcg")
    ]


def _by_action(papers: Sequence[dict[str, Any]], k: int) -> list[Figure]:
    """Returns precision and recall for each action, pooled over all papers."""
    figures = []
    for action in _ACTIONS:
        entries: list[bool] = []
        golds: list[bool] = []
        for paper in papers:
            shown = list(paper["plan"])[:k]
            complete = {
                gold: set(names) for gold, names in paper["matches"].items() if names and set(names) <= {*shown}
            }
            used = set().union(*complete.values())
            entries += [name in used for name in shown if paper["plan"][name] == action]
            golds += [gold in complete for gold, kind in paper["golds"].items() if kind == action]
        for measure, right in (("precision", entries), ("recall", golds)):
            value = statistics.fmean(right) if right else None
            figures.append(
                Figure(name=f"{measure} of {action}, all papers", value=value, count=len(right), unit="number")
            )
    return figures


def _dollars(samples: Sequence[EvalSample]) -> list[Figure]:
    """Returns the dollars per paper, or no value if a price is unknown."""
    whole: dict[str, float | None] = {}
    judges: dict[str, float | None] = {}
    for sample in samples:
        for found, usage in ((whole, sample.model_usage), (judges, sample.role_usage)):
            costs = [each.total_cost for each in usage.values()]
            found[str(sample.id)] = None if None in costs else sum(filter(None, costs))
    figures = []
    for name, found in (("dollars a paper", whole), ("of these, for judging", judges)):
        known = {paper: cost for paper, cost in found.items() if cost is not None}
        figures.append(
            mean_figure(name, known if len(known) == len(found) else {}, unit="dollars", note="price unknown")
        )
    return figures
