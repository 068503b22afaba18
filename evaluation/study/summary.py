"""Summarises a study's runs as mean ± sd, best@k, and differences from the full graph."""

import math
import statistics
from collections.abc import Mapping, Sequence

from evaluation.results.statistics import paired
from evaluation.results.table import DIFFERENCE, aligned, difference, number
from evaluation.study.runs import Run
from xkg.model import paper_of
from xkg.value import Value

BEST_OF = 3


class Summary(Value):
    """Summarises one variant. `mean` is the average, over papers, of each paper's mean score. For run numbers that
    every paper has, `sd` is the standard deviation of the mean score of each run over papers. `best` is the average,
    over papers, of the best score in `BEST_OF` runs. Values are None if there are too few runs."""

    variant: str
    runs: int
    failed: int
    mean: float | None
    sd: float | None
    best: float | None


def best_at(scores: Sequence[float], k: int = BEST_OF) -> float | None:
    """Returns the mean best score of k runs, over all choices of k runs. This is the pass@k estimator from Chen et al.
    2021 (arXiv 2107.03374), applied to scores. Returns None for fewer than k runs."""
    if len(scores) < k:
        return None
    ordered = sorted(scores)
    # In ascending order, score i (from 0) is the best of k scores if the other k - 1 are among the i lower ones.
    return math.fsum(score * math.comb(i, k - 1) for i, score in enumerate(ordered)) / math.comb(len(ordered), k)


def summarize(variant: str, runs: Sequence[Run]) -> Summary:
    by_paper: dict[str, dict[int, float]] = {}
    for run in runs:
        if run.score is not None:
            by_paper.setdefault(run.paper, {})[run.number] = run.score
    papers = list(by_paper.values())
    complete = set.intersection(*(set(paper) for paper in papers)) if papers else set()
    of_runs = [statistics.fmean(paper[n] for paper in papers) for n in sorted(complete)]
    best = [best_at(list(paper.values())) for paper in papers]
    bests = [value for value in best if value is not None]
    return Summary(
        variant=variant,
        runs=sum(map(len, papers)),
        failed=sum(run.score is None for run in runs),
        mean=statistics.fmean(statistics.fmean(paper.values()) for paper in papers) if papers else None,
        sd=statistics.stdev(of_runs) if len(of_runs) > 1 else None,
        best=statistics.fmean(bests) if bests and len(bests) == len(papers) else None,
    )


def table(runs: Mapping[str, Sequence[Run]], reference: str = "full") -> str:
    """Returns one line per variant, with its difference from the reference over the same papers and runs. The units are
    papers, or runs if there is only one paper."""
    rows: list[tuple[str, ...]] = [("", "mean ± sd", f"best@{BEST_OF}", "runs", "failed", *DIFFERENCE)]
    base = scores(runs.get(reference, ()))
    alone = len({run.paper for of_variant in runs.values() for run in of_variant}) == 1
    for variant, of_variant in runs.items():
        summary = summarize(variant, of_variant)
        spread = "" if summary.sd is None else f" ± {summary.sd:.3f}"
        against = difference(paired(variant, base, scores(of_variant), str if alone else paper_of))
        rows.append(
            (
                variant,
                number(summary.mean, "number") + spread,
                number(summary.best, "number"),
                str(summary.runs),
                str(summary.failed),
                *(against if variant != reference else ("",) * len(DIFFERENCE)),
            )
        )
    return aligned(rows, left={0})


def scores(runs: Sequence[Run]) -> dict[str, float]:
    """Returns the score of each run, keyed by `<paper>#run-<n>`."""
    return {f"{run.paper}#run-{run.number}": run.score for run in runs if run.score is not None}
