"""Compares judges with people: the labels of a log's judge and those of the benchmark's JudgeEval.

A row of labels has the `id` of a paper, or PLANNER/PAPER if plans of several planners were labelled. Its `labels` are
JSON lines of `name_in_paper` with `name_in_plan` or null, or of `name_in_plan` with `appears_in_review`."""

import json
import statistics
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from evaluation.ablation_bench.scores.metrics import Scores, label_scores
from evaluation.ablation_bench.scores.report import Run


@dataclass(frozen=True)
class Quality:
    """Means over the papers that have labels and were judged; a paper whose planner or judge failed scores 0.
    `problems` counts papers that could not be compared."""

    papers: int
    precision: float
    recall: float
    f1: float
    problems: Counter[str]


def read_labels(path: Path) -> tuple[dict[str, dict[str, bool]], Counter[str]]:
    """By row, a person's labels for each gold ablation (is it in the plan?) or entry (does a review ask for it?), and
    the unusable rows. Raises `OSError`."""
    labels: dict[str, dict[str, bool]] = {}
    problems: Counter[str] = Counter()
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        if not line.strip():
            continue
        row = _object(line)
        if row is None or not isinstance(row.get("id"), str) or not isinstance(row.get("labels"), str):
            problems["row without id and labels"] += 1
            continue
        known = labels.setdefault(str(row["id"]), {})
        for each in filter(str.strip, str(row["labels"]).split("\n")):
            label = _object(each) or {}
            name = label.get("name_in_paper", label.get("name_in_plan"))
            if not isinstance(name, str):
                problems["label without a name"] += 1
                continue
            value = label.get("name_in_plan") if "name_in_paper" in label else label.get("appears_in_review")
            known[name] = bool(value)
    return labels, problems


def quality(run: Run, labels: Mapping[str, Mapping[str, bool]], planner: str = "") -> Quality:
    """The agreement of a run's judge with human labels, of this planner's plans if one is named. Raises `ValueError` if
    it is unclear which planner's labels apply to a paper of the run."""
    problems: Counter[str] = Counter()
    scores: list[Scores] = []
    judged = {paper.id: {**{g: bool(m) for g, m in paper.matches.items()}, **paper.labels} for paper in run.papers}
    for paper, human in _of_papers(labels, planner, {*judged, *run.failed}).items():
        if paper in run.failed:
            scores.append(Scores(0.0, 0.0, 0.0))
            continue
        if paper not in judged:
            problems["paper with labels that was not judged"] += 1
            continue
        own = judged[paper]
        problems["label of what was not judged"] += sum(name not in own for name in human)
        names = sorted(human)
        scores.append(label_scores([own.get(name, False) for name in names], [human[name] for name in names]))
    return Quality(
        papers=len(scores),
        precision=_mean([s.precision for s in scores]),
        recall=_mean([s.recall for s in scores]),
        f1=_mean([s.f1 for s in scores]),
        problems=+problems,
    )


def _of_papers(
    labels: Mapping[str, Mapping[str, bool]], planner: str, papers: Collection[str]
) -> dict[str, Mapping[str, bool]]:
    """The labels by the id that the run has for the paper: the whole id of the row, or the part after its '/'."""
    found: dict[str, Mapping[str, bool]] = {}
    by: dict[str, str] = {}
    for row, human in labels.items():
        who, _, paper = row.rpartition("/")
        if planner and who != planner:
            continue
        name = row if row in papers else paper
        if name in found:
            raise ValueError(
                f"{name} has labels of several planners ({by[name]}, {who}): say with --planner whose plans were judged"
            )
        found[name], by[name] = human, who
    return found


def _object(line: str) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _mean(values: list[float]) -> float:
    return statistics.fmean(values) if values else 0.0
