import json
from pathlib import Path

import pytest
from inspect_ai import eval as inspect_eval

from evaluation.paperbench import gains, tasks
from evaluation.results.document import Results, write
from tests.evaluation.scripted_model import answering, calling, scripted

EXAMPLE = Path(__file__).parents[3] / "evaluation" / "paperbench" / "example"


def grader(met: str):
    """Creates a judge that accepts each requirement whose text is in the files."""
    return answering(lambda messages: f"<verdict>{'met' if met in messages[-1].text else 'unmet'}</verdict>")


def run(task, model, judge, folder: Path):
    (log,) = inspect_eval(
        task, model=model, model_roles={"grader": judge}, log_dir=str(folder), display="none", max_connections=1
    )
    assert log.status == "success", log.error
    return log


def only_score(log):
    ((score,),) = [list(sample.scores.values()) for sample in log.samples]
    return score


def test_a_react_agent_writes_and_submits(tmp_path: Path) -> None:
    model = scripted(
        calling("write_file", path="kernel.py", content="def rbf(x, h): ..."),
        calling("write_file", path="../out.py", content="x"),
        calling("list_files"),
        calling("submit", answer="done"),
    )
    log = run(tasks.react_agent(str(EXAMPLE)), model, grader("exponential average"), tmp_path)
    score = only_score(log)
    # One code development leaf has weight 2, out of 3 + 2 + 2 + 1 + 1 + 2.
    assert score.value == pytest.approx(2 / 11)
    assert score.metadata["files"] == ["kernel.py"]
    assert score.metadata["unusable"] == []
    said = [message.text for message in log.samples[0].messages if message.role == "tool"]
    assert "wrote kernel.py" in said[0]


def test_papercoder_plans_analyses_and_writes_with_both_views(tmp_path: Path) -> None:
    views = tmp_path / "contexts" / "svgd"
    views.mkdir(parents=True)
    (views / "planning.md").write_text("PLANNING VIEW")
    (views / "implementation.md").write_text("IMPLEMENTATION VIEW")
    asked: list[str] = []

    def answer(messages):
        text = messages[-1].text
        asked.append(text)
        if "list the repository's files" in text:
            return 'Here: {"files": [{"path": "k.py", "purpose": "kernel"}, {"path": "../x.py"}, {"path": "k.py"}]}'
        return "```python\nh = 1\n```" if "Write " in text[-400:] and "whole" in text[-400:] else "a plan"

    log = run(
        tasks.papercoder_flow(str(EXAMPLE), contexts=str(tmp_path / "contexts")),
        answering(answer),
        grader("h = 1"),
        tmp_path / "logs",
    )
    assert "PLANNING VIEW" in asked[0]
    assert "IMPLEMENTATION VIEW" not in asked[0]
    assert all("IMPLEMENTATION VIEW" in text for text in asked[2:])
    assert only_score(log).value == 1.0
    assert only_score(log).metadata["files"] == ["k.py"]
    assert len(log.samples[0].metadata["problems"]) == 2


def results(folder: Path, name: str, **scores: float) -> Path:
    write(Results(measure="bench", scores={"score": scores}), folder / name)
    return folder / name


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_gains_by_paper_domain_and_failure_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without = results(tmp_path, "without.json", a=0.2, b=0.4, c=0.5)
    with_graph = results(tmp_path, "with.json", a=0.5, b=0.3, d=0.9)
    labels = {"a": {"domain": "vision"}, "b": {"domain": "language", "failure_mode": "over-reliance on retrieved code"}}
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    gains.main(without=[without], with_graph=[with_graph], labels=tmp_path / "labels.json")
    lines = lines_of(capsys)
    assert "a 1 0.200 0.500 +0.300" in lines
    assert "language 1 0.400 0.300 -0.100" in lines
    assert "over-reliance on retrieved code 1 0.400 0.300 -0.100" in lines
    assert "not labelled 1 0.200 0.500 +0.300" in lines
    assert any(line.startswith("2 inputs") for line in lines)
