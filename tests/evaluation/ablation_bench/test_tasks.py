"""Runs the tasks with Inspect and its mock model."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, ModelOutput

from evaluation.ablation_bench.__main__ import main
from evaluation.ablation_bench.report import read_results
from evaluation.ablation_bench.tasks import author, reviewer
from evaluation.results.document import Results
from tests.evaluation.scripted_model import answering, calling
from tests.serve.conftest import embedder, graph

__all__ = ["embedder", "graph"]

GOLDS = [
    {"name": "No steam", "ablated_part": "steam", "action": "REMOVE", "metrics": ["volume"]},
    {"name": "Other blades", "ablated_part": "scoring", "action": "REPLACE", "replacement": ["knife"], "metrics": []},
]
PLAN = [
    {"name": "P1", "ablated_part": "steam", "action": "REMOVE", "metrics": ["volume"]},
    {"name": "P2", "ablated_part": "stone", "action": "REPLACE", "replacement": ["tin"], "metrics": ["crust"]},
]
STEAM = "Without Steam Injection (SI)"
TITLE = "Bread Ovens: a Study of Crust"


def tagged(*rows: dict[str, Any]) -> str:
    return "<discussion>So.</discussion>\n<predictions>\n" + "\n".join(map(json.dumps, rows)) + "\n</predictions>"


def judged(question: str, matches: dict[str, str]) -> str:
    """Returns the answer of a judge that knows the matching entry for each gold. The golds may be on either side."""
    gold_side = "A" if re.search(r"<<<side_A[^<]*No steam", question) else "B"
    plan_side = "B" if gold_side == "A" else "A"
    rows = [{f"name_in_{gold_side}": gold, f"name_in_{plan_side}": matches.get(gold)} for gold in matches]
    return tagged(*rows)


@pytest.fixture
def instances(tmp_path: Path) -> Path:
    folder = tmp_path / "papers" / "loaf"
    folder.mkdir(parents=True)
    (folder / "main.tex").write_text("\\section{Steam}\nPour water on hot iron.\n\\section{Scoring}\nCut the dough.\n")
    row = {
        "id": "loaf",
        "paper_title": TITLE,
        "paper_abstract": "How steam makes a crust.",
        "paper_path": "papers/loaf",
        "ablations_in_paper": json.dumps(GOLDS),
        "review_text": json.dumps(["Try it without steam."]),
        "num_ablation_suggestions": 2,
        "year": 2024,
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\nbroken\n" + json.dumps({**row, "id": "gone", "paper_path": "papers/gone"}))
    return path


def run(task: Any, planner: Model, tmp_path: Path, **roles: Model) -> EvalLog:
    (log,) = inspect_eval(task, model=planner, model_roles=dict(roles), log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "success", log.error
    return log


def model(answer: Callable[[str], ModelOutput | str]) -> Model:
    """Creates a model that answers the last message."""
    return answering(lambda messages: answer(messages[-1].text))


def planning(*rows: dict[str, Any], asked: list[str] | None = None) -> Model:
    """Creates a planner that returns this plan. `asked` collects its questions."""

    def plan(question: str) -> str:
        if asked is not None:
            asked.append(question)
        return tagged(*rows)

    return model(plan)


def knowing(**matches: str) -> Model:
    """Creates a judge that knows the matching entry for each gold. The parameters are the first letters of the golds'
    names."""
    golds = {"N": "No steam", "O": "Other blades"}
    return model(lambda question: judged(question, {golds[name]: entry for name, entry in matches.items()}))


def report(log: EvalLog) -> tuple[Results, dict[str, float], str]:
    """Returns a log's results, its figures by name, and its problems as one text."""
    results, _ = read_results(Path(log.location))
    figures = {figure.name: figure.value for figure in results.figures if figure.value is not None}
    return results, figures, "; ".join(results.problems)


def test_a_plan_is_judged_and_reported(instances: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    questions: list[str] = []
    planner = planning(*PLAN, {**PLAN[0], "name": "P3", "action": "SHUFFLE"}, asked=questions)
    log = run(author(str(instances)), planner, tmp_path, judge=knowing(N="P1", O="P9"))
    assert "Pour water on hot iron." in questions[0]
    assert "No steam" not in questions[0]
    results, figures, problems = report(log)
    assert {name: of["loaf"] for name, of in results.scores.items()} == {
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "ndcg": pytest.approx(0.6131, 1e-3),
    }
    assert (figures["precision of REMOVE, all papers"], figures["recall of REPLACE, all papers"]) == (1.0, 0.0)
    assert figures["precision, by the benchmark's program"] == 0.5
    for counted in ("action", "judge: unknown ablation", "Invalid JSON", "missing paper"):
        assert counted in problems
    main("report", Path(log.location), against=Path(log.location))
    printed = capsys.readouterr().out
    assert "the same model as the planner" not in printed
    assert "+0.000" in printed.splitlines()[-1]


def test_the_reviewer_task(instances: Path, tmp_path: Path) -> None:
    def labels(question: str) -> str:
        assert "Try it without steam." in question
        return tagged(
            {"name_in_plan": "P1", "appears_in_review": True}, {"name_in_plan": "P2", "appears_in_review": False}
        )

    log = run(reviewer(str(instances)), planning(*PLAN), tmp_path, judge=model(labels))
    assert report(log)[0].scores == {name: {"loaf": 0.5} for name in ("precision", "recall", "f1")}


def test_the_graph_adds_its_material_to_the_same_question(instances: Path, tmp_path: Path, graph: Path) -> None:
    questions: list[str] = []
    for folder in ("", str(graph)):
        run(author(str(instances), graph=folder), planning(*PLAN, asked=questions), tmp_path, judge=knowing())
    without, with_graph = questions
    assert "Steam Injection" not in without
    assert "oven/steam.py:3-9" in with_graph
    block = re.compile(r"What a knowledge graph.*?<<<end graph \w+>>>\s*", re.S)
    assert re.sub(r"\s+", " ", block.sub("", with_graph)) == re.sub(r"\s+", " ", without)


def test_an_agent_reads_the_paper_and_the_graph_over_mcp(instances: Path, tmp_path: Path, graph: Path) -> None:
    seen: list[str] = []
    steps = [calling("plan_context", paper=TITLE), calling("submit", answer=tagged(*PLAN))]

    def agent(last: str) -> ModelOutput:
        seen.append(last)
        return steps.pop(0)

    task = author(str(instances), planner="agent", graph=str(graph))
    log = run(task, model(agent), tmp_path, judge=knowing(N="P1"))
    assert "Pour water on hot iron." in seen[0]
    assert "Steam Injection" in seen[1]
    assert report(log)[0].scores["recall"]["loaf"] == 0.5
