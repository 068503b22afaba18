"""Reports of the tasks' logs: scores at each k, by action and by group, dollars, and all counted errors."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from evaluation.ablation_bench.answers import Action
from evaluation.ablation_bench.scores.metrics import MOST_K, f1, program_scores
from evaluation.results.compare import Comparison, paired

ROLES = ("judge", "judge_2", "judge_3")
MEASURES = ("precision", "recall", "f1", "ndcg")


@dataclass(frozen=True)
class Judged:
    """One paper of a log. `by_k` are the scores at each k by name. `dollars` and `judge_dollars`, of the planner and of
    judges that have a role, are None if a price is unknown."""

    id: str
    by_k: Mapping[int, Mapping[str, float | None]]
    plan: Mapping[str, Action]
    golds: Mapping[str, Action]
    matches: Mapping[str, Sequence[str]]
    labels: Mapping[str, bool]
    groups: Mapping[str, str]
    problems: Mapping[str, int]
    left_out: Sequence[str]
    dollars: float | None
    judge_dollars: float | None = None


@dataclass(frozen=True)
class Run:
    """A log. `judged_by` names the models that judged and how they did. `failed` are papers whose planner or judge
    failed, with the reason; `rows` are unusable rows of the data set."""

    name: str
    task: str
    model: str
    k: int
    planner: str
    graph: bool
    papers: tuple[Judged, ...]
    failed: Mapping[str, str]
    rows: Mapping[str, int]
    judged_by: str = ""

    def scores(self, measure: str, k: int | None = None) -> dict[str, float]:
        """By paper; a failed paper scores 0."""
        found = {p.id: float(p.by_k[k or self.k][measure] or 0.0) for p in self.papers}
        return found | dict.fromkeys(self.failed, 0.0)


def read_log(path: Path) -> EvalLog:
    """Raises `ValueError` for a file that is not an Inspect log."""
    try:
        return read_eval_log(str(path))
    except Exception as error:  # the library lets any exception of its parts through
        raise ValueError(f"{path} is no log of Inspect ({str(error)[:120]}): give a .eval log") from error


def read_run(path: Path) -> Run:
    """The scored run of a log. Raises `ValueError` for one that was not scored, and for a file that is not a log."""
    log = read_log(path)
    known = log.eval.metadata or {}
    papers, failed = [], {}
    for sample in log.samples or ():
        if sample.error is not None:
            failed[str(sample.id)] = sample.error.message.splitlines()[0][:200] if sample.error.message else "an error"
        elif judged := _judged(sample):
            papers.append(judged)
    if not papers and not failed:
        raise ValueError(f"{path} has no scores: run it without --no-score, or `inspect score` it")
    return Run(
        name=path.name,
        task=log.eval.task.rpartition("/")[2],
        model=log.eval.model,
        k=int(known.get("k", 5)),
        planner=str(known.get("planner", "")),
        graph=bool(known.get("graph")),
        papers=tuple(papers),
        failed=failed,
        rows=known.get("rows", {}),
        judged_by=_judged_by(log),
    )


def _judged_by(log: EvalLog) -> str:
    """A judge without its own role is the model under evaluation, or that of the first judge."""
    known, roles = log.eval.metadata or {}, log.eval.model_roles or {}
    count = int(known.get("judges", 1))
    models: list[str] = []
    for role in ROLES[:count]:
        given = roles.get(role, roles.get(ROLES[0]))
        first = given[0] if isinstance(given, list) else given
        models.append(first.model if first else f"{log.eval.model}, the planner's own model")
    return f"model {models[0]}" if count == 1 else f"the majority of {count} models: {'; '.join(models)}"


def _judged(sample: EvalSample) -> Judged | None:
    score = next(iter((sample.scores or {}).values()), None)
    if score is None or not score.metadata:
        return None
    found: dict[str, Any] = score.metadata
    costs = [usage.total_cost for usage in sample.model_usage.values()]
    of_judges = [usage.total_cost for usage in sample.role_usage.values()]
    judges = None if None in of_judges else sum(filter(None, of_judges))
    return Judged(
        id=str(sample.id),
        by_k={int(k): scores for k, scores in found["by_k"].items()},
        plan=found["plan"],
        golds=found.get("golds", {}),
        matches=found.get("matches", {}),
        labels=found.get("labels", {}),
        groups=found.get("groups", {}),
        problems=found.get("problems", {}),
        left_out=[*sample.store.get("left_out", []), *found.get("left_out", [])],
        dollars=sum(filter(None, costs)) - (judges or 0) if costs and None not in costs else None,
        judge_dollars=judges,
    )


def by_action(run: Run) -> dict[str, tuple[float, float, float]]:
    """Precision, recall and F1 of each action, over all papers together at the run's k: matching plan entries with the
    action, and found golds with it."""
    result = {}
    for action in ("REMOVE", "REPLACE", "ADD"):
        entries = matched = golds = found = 0
        for paper in run.papers:
            shown = list(paper.plan)[: run.k]
            used = {e for names in paper.matches.values() if set(names) <= set(shown) for e in names}
            entries += sum(paper.plan[name] == action for name in shown)
            matched += sum(paper.plan[name] == action for name in used)
            golds += sum(gold == action for gold in paper.golds.values())
            found += sum(
                paper.golds.get(gold) == action and bool(names) and set(names) <= set(shown)
                for gold, names in paper.matches.items()
            )
        precision, recall = (matched / entries if entries else 0.0), (found / golds if golds else 0.0)
        result[action] = (precision, recall, f1(precision, recall))
    return result


def as_the_program_counts(run: Run) -> dict[str, float]:
    """The means of the author task at the run's k, counted like the benchmark's own program (`metrics.program_scores`)
    for its leaderboard; a failed paper scores 0."""
    found = [program_scores(list(p.plan), list(p.golds), p.matches, run.k) for p in run.papers]
    papers = len(run.papers) + len(run.failed)
    return {m: sum(getattr(s, m) for s in found) / papers if papers else 0.0 for m in MEASURES}


def by_group(run: Run, measure: str = "f1") -> dict[str, tuple[float, int]]:
    """The mean of a metric and the number of papers for each year, venue and decision."""
    groups: dict[str, list[float]] = defaultdict(list)
    scores = run.scores(measure)
    for paper in run.papers:
        for kind, value in paper.groups.items():
            groups[f"{kind} {value}"].append(scores[paper.id])
    return {name: (statistics.fmean(values), len(values)) for name, values in sorted(groups.items())}


def problems(run: Run) -> Counter[str]:
    total: Counter[str] = Counter()
    for paper in run.papers:
        total.update(paper.problems)
    return total


def as_json(run: Run, against: Run | None = None) -> dict[str, Any]:
    measures = [m for m in MEASURES if m != "ndcg" or run.task == "author"]
    return {
        "log": run.name,
        "task": run.task,
        "model": run.model,
        "planner": run.planner,
        "graph": run.graph,
        "judged_by": run.judged_by,
        "k": run.k,
        "papers": len(run.papers),
        "by_k": {k: {m: _mean(run.scores(m, k)) for m in measures} for k in range(1, MOST_K + 1)},
        "by_paper": {p.id: {m: p.by_k[run.k][m] for m in measures} for p in run.papers},
        "as_the_program_counts": as_the_program_counts(run) if run.task == "author" else {},
        "by_action": by_action(run) if run.task == "author" else {},
        "by_group": by_group(run),
        "dollars_a_paper": _mean_cost([paper.dollars for paper in run.papers]),
        "judge_dollars_a_paper": _mean_cost([paper.judge_dollars for paper in run.papers]),
        "problems": dict(problems(run)),
        "left_out": {p.id: list(p.left_out) for p in run.papers if p.left_out},
        "failed": dict(run.failed),
        "rows_left_out": dict(run.rows),
        "against": None
        if against is None
        else {"log": against.name} | {m: compared(run, against, m).model_dump() for m in measures},
    }


def _mean_cost(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return statistics.fmean(known) if known and len(known) == len(costs) else None


def as_text(run: Run, against: Run | None = None) -> str:
    return "\n".join(_lines(run, against))


def overall(runs: Sequence[Run], measure: str = "f1") -> float | None:
    """The mean of both tasks, each at its k; None if one is missing."""
    by_task = {run.task: _mean(run.scores(measure)) for run in runs}
    return statistics.fmean(by_task.values()) if by_task.keys() == {"author", "reviewer"} else None


def _lines(run: Run, against: Run | None) -> Iterator[str]:
    result = as_json(run, against)
    yield f"{run.task}: {_planned_by(run)}, {len(run.papers)} papers, k = {run.k}"
    yield f"judged by {run.judged_by}"
    measures = list(result["by_k"][1])
    yield f"{'':>4}" + "".join(f"{m:>11}" for m in measures)
    for k, means in result["by_k"].items():
        if k <= run.k:
            yield f"@{k:<3}" + "".join(f"{means[m]:>11.3f}" for m in measures)
    if run.k < MOST_K:
        yield f"@{run.k + 1} to @{MOST_K}: as @{run.k}: plans have at most {run.k} entries (-T k={MOST_K} for more)"
    if by_program := result["as_the_program_counts"]:
        yield (f"@{run.k:<3}" + "".join(f"{by_program[m]:>11.3f}" for m in measures) + "  by the benchmark's program")
    other = {p.id: p for p in against.papers} if against else {}
    for paper in run.papers:
        row = "".join(f"{paper.by_k[run.k][m] or 0.0:>8.3f}" for m in measures)
        beside = f"   F1 of the other run {other[paper.id].by_k[run.k]['f1'] or 0.0:.3f}" if paper.id in other else ""
        yield f"  {paper.id:<32}{row}{beside}"
    for name, values in result["by_action"].items():
        yield f"  {name:<8} precision {values[0]:.3f}, recall {values[1]:.3f}, F1 {values[2]:.3f} (over all papers)"
    for name, (mean, count) in result["by_group"].items():
        yield f"  {name}: F1 {mean:.3f} over {count} papers"
    yield f"  dollars a paper: {_dollars(result, 'dollars')}; for judging {_dollars(result, 'judge_dollars')}"
    for kind, count in {**result["problems"], **result["rows_left_out"]}.items():
        yield f"  {count} x {kind}"
    for paper_id, sections in result["left_out"].items():
        yield f"  {paper_id}: too long, left out: {', '.join(sections)}"
    for paper_id, reason in result["failed"].items():
        yield f"  {paper_id} failed: {reason}"
    if against is not None:
        yield f"  less {against.name} ({_planned_by(against)}):"
        for measure in measures:
            yield _difference(compared(run, against, measure))


def _planned_by(run: Run) -> str:
    if run.planner == "stored":
        return "stored plans"
    if run.planner == "graph":
        return "the graph alone, without a model"
    return f"{run.planner} planner {'with' if run.graph else 'without'} graph, {run.model}"


def _dollars(result: Mapping[str, Any], of: str) -> str:
    cost = result[f"{of}_a_paper"]
    return "unknown" if cost is None else f"{cost:.4f}"


def compared(run: Run, against: Run, measure: str) -> Comparison:
    """Compares the run with an earlier one, paired by paper; each paper is a separate unit."""
    return paired(measure, against.scores(measure), run.scores(measure), group_of=str)


def _difference(c: Comparison) -> str:
    if c.difference is None:
        return f"  {c.score}: no paper in both"
    if c.effect is None or c.p_t is None:
        return f"  {c.score}: {c.difference:+.3f} over {c.papers} papers (no spread: no interval)"
    return (
        f"  {c.score}: {c.difference:+.3f} [{c.low:+.3f}, {c.high:+.3f}] over {c.papers} papers, "
        f"d = {c.effect:.2f}, p = {c.p_t:.3f} (t), {c.p_permutation:.3f} (signs)"
    )


def _mean(scores: Mapping[str, float]) -> float:
    return statistics.fmean(scores.values()) if scores else 0.0


def plans_of(log: EvalLog) -> dict[str, str]:
    """The planners' plans, by paper: JSON lines."""
    return {str(sample.id): sample.store.get("plan", "") for sample in log.samples or ()}
