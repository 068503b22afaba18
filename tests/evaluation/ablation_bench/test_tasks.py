"""The tasks as Inspect runs them, with its mock model."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, ChatMessageTool, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolInfo

from evaluation.ablation_bench.scores.report import as_json, as_text, overall, plans_of, read_run
from evaluation.ablation_bench.tasks import author, reviewer
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

Answer = Callable[[str, list[ChatMessage], list[ToolInfo]], ModelOutput | str]


def tagged(*rows: dict[str, Any]) -> str:
    return "<discussion>So.</discussion>\n<predictions>\n" + "\n".join(map(json.dumps, rows)) + "\n</predictions>"


def model(answer: Answer) -> Model:
    """A mock whose tokens are given, since counting them would fetch an encoding."""

    def output(messages: list[ChatMessage], tools: list[ToolInfo], *_: Any) -> ModelOutput:
        given = answer(messages[-1].text, messages, tools)
        result = ModelOutput.from_content("mockllm", given) if isinstance(given, str) else given
        result.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return result

    return get_model("mockllm/model", custom_outputs=output, memoize=False)


def call(tool: str, **arguments: Any) -> ModelOutput:
    return ModelOutput.for_tool_call("mockllm", tool, arguments)


def judged(question: str, matches: dict[str, str]) -> str:
    """The answer of a judge that knows which gold is which entry, on whichever side it stands."""
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


def report(log: EvalLog) -> dict[str, Any]:
    return as_json(read_run(Path(log.location)))


def test_a_plan_is_made_judged_and_reported(instances: Path, tmp_path: Path) -> None:
    questions: list[str] = []

    def plans(question: str, *_: Any) -> str:
        questions.append(question)
        return tagged(*PLAN, {**PLAN[0], "name": "P3", "action": "SHUFFLE"})

    log = run(
        author(str(instances)),
        model(plans),
        tmp_path,
        judge=model(lambda question, *_: judged(question, {"No steam": "P1", "Other blades": "P9"})),
    )
    assert "Pour water on hot iron." in questions[0]
    assert "No steam" not in questions[0]
    found = report(log)
    assert found["by_paper"]["loaf"] == {
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "ndcg": pytest.approx(0.6131, 1e-3),
    }
    assert found["by_k"][1]["precision"] == 1.0
    assert found["problems"] == {"unknown action": 1, "judge: ablation that is not there": 1}
    assert found["rows_left_out"] == {"row that is no JSON object": 1, "paper that is missing": 1}
    assert found["by_action"]["REMOVE"] == (1.0, 1.0, 1.0)
    assert found["by_action"]["REPLACE"] == (0.0, 0.0, 0.0)
    assert found["by_group"] == {"year 2024": (0.5, 1)}
    assert plans_of(log)["loaf"].splitlines()[0] == json.dumps(PLAN[0])
    text = as_text(read_run(Path(log.location)), read_run(Path(log.location)))
    assert "1 x unknown action" in text
    assert "no spread" in text


def test_three_judges_decide_by_majority(instances: Path, tmp_path: Path) -> None:
    planner = model(lambda *_: tagged(*PLAN))
    yes = model(lambda question, *_: judged(question, {"No steam": "P1", "Other blades": "P2"}))
    no = model(lambda question, *_: judged(question, {"No steam": "P1"}))
    found = report(run(author(str(instances), judges=3), planner, tmp_path, judge=yes, judge_2=no, judge_3=no))
    assert found["by_paper"]["loaf"]["recall"] == 0.5
    assert found["problems"] == {"judge: gold ablation without a line": 2}
    assert "the majority of 3 models" in found["judged_by"]


def test_the_reviewer_task_and_the_mean_of_both(instances: Path, tmp_path: Path) -> None:
    def labels(question: str, *_: Any) -> str:
        assert "Try it without steam." in question
        return tagged(
            {"name_in_plan": "P1", "appears_in_review": True}, {"name_in_plan": "P2", "appears_in_review": False}
        )

    planner = model(lambda *_: tagged(*PLAN))
    log = run(reviewer(str(instances)), planner, tmp_path, judge=model(labels))
    assert report(log)["by_paper"]["loaf"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5}
    reviewed = read_run(Path(log.location))
    half_failed = replace(reviewed, task="author", failed={"soup": "an error"})
    assert overall([reviewed, half_failed]) == (0.5 + 0.25) / 2
    assert overall([reviewed]) is None


def test_an_answer_without_a_plan_scores_nothing_and_is_counted(instances: Path, tmp_path: Path) -> None:
    answers = ["", "I cannot.", "<predictions>", json.dumps(PLAN[0]), tagged({"name": 3})]
    row = json.loads(instances.read_text().splitlines()[0])
    instances.write_text("\n".join(json.dumps({**row, "id": str(n)}) for n in range(len(answers))))

    def never(*_: Any) -> str:
        raise AssertionError("an empty plan is not judged")

    found = report(run(author(str(instances)), model(lambda *_: answers.pop()), tmp_path, judge=model(never)))
    assert [scores["f1"] for scores in found["by_paper"].values()] == [0.0] * 5
    assert found["problems"]["empty plan"] == 5


def test_the_graph_adds_its_material_to_the_same_question(instances: Path, tmp_path: Path, graph: Path) -> None:
    questions: list[str] = []

    def plans(question: str, *_: Any) -> str:
        questions.append(question)
        return tagged(*PLAN)

    for folder in ("", str(graph)):
        run(author(str(instances), graph=folder), model(plans), tmp_path, judge=model(lambda *_: tagged()))
    without, with_graph = questions
    assert "Steam Injection" not in without
    assert "Steam Injection" in with_graph
    assert "oven/steam.py:3-9" in with_graph
    block = re.compile(r"What a knowledge graph.*?<<<end graph \w+>>>\s*", re.S)
    assert re.sub(r"\s+", " ", block.sub("", with_graph)) == re.sub(r"\s+", " ", without)


@pytest.mark.product("a run of the bench", every=True)
def test_a_paper_that_the_graph_lacks_is_counted(instances: Path, tmp_path: Path, graph: Path) -> None:
    text = instances.read_text().replace(TITLE, "Soups")
    instances.write_text(text)
    judge = model(lambda *_: tagged())
    log = run(author(str(instances), graph=str(graph)), model(lambda *_: tagged(*PLAN)), tmp_path, judge=judge)
    assert report(log)["problems"]["paper that the graph does not have"] == 1
    assert log.samples is not None
    log = run(author(str(instances), planner="product", graph=str(graph)), judge, tmp_path, judge=judge)
    assert report(log)["problems"] == {"paper that the graph does not have": 1, "empty plan": 1}
    submits = model(lambda *_: call("submit", answer=tagged(*PLAN)))
    log = run(author(str(instances), planner="agent", graph=str(graph)), submits, tmp_path, judge=judge)
    assert report(log)["problems"]["paper that the graph does not have"] == 1


def test_the_graph_alone_plans_without_a_question(instances: Path, tmp_path: Path, graph: Path) -> None:
    def judge(question: str, *_: Any) -> str:
        assert "<<<side_A" in question, "no model is asked for a plan"
        return judged(question, {"No steam": STEAM})

    log = run(author(str(instances), planner="graph", graph=str(graph)), model(judge), tmp_path)
    assert report(log)["by_paper"]["loaf"]["recall"] == 0.5
    text = as_text(read_run(Path(log.location)))
    assert text.startswith("author: the graph alone, without a model, 1 papers, k = 5")
    assert "judged by model mockllm/model, the planner's own model" in text
    assert "@6 to @10: as @5" in text


def test_an_agent_reads_files_and_the_graph_over_mcp(instances: Path, tmp_path: Path, graph: Path) -> None:
    seen: list[str] = []
    steps = [
        call("list_files"),
        call("read_lines", path="main.tex"),
        call("read_lines", path="../../rows.jsonl"),
        call("find_text", text="WATER"),
        call("plan_context", paper=TITLE),
        call("submit", answer=tagged(*PLAN)),
    ]

    def agent(last: str, messages: list[ChatMessage], tools: list[ToolInfo]) -> ModelOutput:
        error = messages[-1].error if isinstance(messages[-1], ChatMessageTool) else None
        seen.append(error.message if error else last)
        assert {"list_files", "read_lines", "find_text", "plan_context", "locate"} <= {tool.name for tool in tools}
        return steps.pop(0)

    task = author(str(instances), planner="agent", graph=str(graph))
    judge = model(lambda question, *_: judged(question, {"No steam": "P1"}))
    log = run(task, model(agent), tmp_path, judge=judge)
    assert seen[1] == "main.tex"
    assert "Pour water on hot iron." in seen[2]
    assert "no file" in seen[3]
    assert "main.tex:2" in seen[4]
    assert "Steam Injection" in seen[5]
    assert report(log)["by_paper"]["loaf"]["recall"] == 0.5


def test_stored_plans_are_judged_and_told_apart_by_their_ids(instances: Path, tmp_path: Path) -> None:
    row = json.loads(instances.read_text().splitlines()[0])
    instances.write_text("\n".join(json.dumps({**row, "id": name}) for name in ("a/loaf", "b/loaf", "../loaf")))
    plans = tmp_path / "plans"
    for name, lines in (("a/loaf", PLAN), ("b/loaf", PLAN[1:])):
        (plans / name).parent.mkdir(parents=True, exist_ok=True)
        (plans / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "loaf.jsonl").write_text(json.dumps(PLAN[0]))
    judge = model(lambda question, *_: judged(question, {"No steam": "P1"} if '"P1"' in question else {}))
    log = run(author(str(instances), planner="stored", plans=str(plans)), judge, tmp_path, judge=judge)
    lines_of = {name: len(plan.splitlines()) for name, plan in plans_of(log).items()}
    assert lines_of == {"a/loaf": 2, "b/loaf": 1, "../loaf": 0}
    found = report(log)
    assert {name: scores["recall"] for name, scores in found["by_paper"].items()} == {
        "a/loaf": 0.5, "b/loaf": 0.0, "../loaf": 0.0
    }  # fmt: skip
    assert found["problems"]["plan that is missing"] == 1
    assert "by the benchmark's program" in as_text(read_run(Path(log.location)))
