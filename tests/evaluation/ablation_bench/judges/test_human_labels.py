"""Judges beside human labels."""

import json
from pathlib import Path

import pytest

from evaluation.ablation_bench.judges.human_labels import quality, read_labels
from evaluation.ablation_bench.scores.report import Judged, Run


def judged(paper: str, matches: dict[str, list[str]], labels: dict[str, bool] | None = None) -> Judged:
    return Judged(paper, {}, {}, {}, matches, labels or {}, {}, {}, (), None)


def run(*papers: Judged) -> Run:
    return Run("log", "author", "m", 5, "lm", False, papers, {}, {})


def lines(*rows: dict[str, object]) -> str:
    return "\n".join(map(json.dumps, rows))


def test_a_judge_is_measured_by_hand_paper_by_paper(tmp_path: Path) -> None:
    labels = lines(
        {"name_in_paper": "g1", "name_in_plan": "p1"},
        {"name_in_paper": "g2", "name_in_plan": ["p1", "p2"]},
        {"name_in_paper": "g3", "name_in_plan": None},
        {"name_in_paper": "g4", "name_in_plan": "p4"},
    )
    path = tmp_path / "labels.jsonl"
    path.write_text(lines({"id": "o3-mini/loaf", "labels": labels}, {"id": "soup", "labels": ""}) + "\nbroken\n")
    human, problems = read_labels(path)
    assert human["o3-mini/loaf"] == {"g1": True, "g2": True, "g3": False, "g4": True}
    assert problems == {"row without id and labels": 1}
    found = quality(run(judged("loaf", {"g1": ["p1"], "g2": [], "g3": ["p9"]})), human)
    assert (found.papers, found.precision, found.recall) == (1, 1 / 2, pytest.approx(1 / 3))
    assert found.f1 == pytest.approx(0.4)
    assert found.problems == {"label of what was not judged": 1, "paper with labels that was not judged": 1}


def test_labels_of_several_planners_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    yes, no = lines({"name_in_paper": "g", "name_in_plan": "p"}), lines({"name_in_paper": "g", "name_in_plan": None})
    path.write_text(lines({"id": "a/loaf", "labels": yes}, {"id": "b/loaf", "labels": no}))
    human, _ = read_labels(path)
    with pytest.raises(ValueError, match="several planners"):
        quality(run(judged("loaf", {"g": ["p"]})), human)
    assert quality(run(judged("loaf", {"g": ["p"]})), human, "a").f1 == 1.0
    assert quality(run(judged("loaf", {"g": ["p"]})), human, "b").precision == 0.0
    both = run(judged("a/loaf", {"g": ["p"]}), judged("b/loaf", {"g": []}))
    assert (quality(both, human).papers, quality(both, human).recall) == (2, 0.5)


def test_labels_of_reviews(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    rows = lines(
        {"name_in_plan": "p1", "appears_in_review": True}, {"name_in_plan": "p2", "appears_in_review": False}, {}
    )
    path.write_text(lines({"id": "loaf", "labels": rows}))
    human, problems = read_labels(path)
    assert problems == {"label without a name": 1}
    found = quality(run(judged("loaf", {}, {"p1": True, "p2": True})), human)
    assert (found.precision, found.recall) == (0.5, 1.0)
