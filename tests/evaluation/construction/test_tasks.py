import json
from pathlib import Path

import pytest
from inspect_ai import eval as inspect_eval

from evaluation.construction import tasks
from evaluation.construction.__main__ import measure
from evaluation.construction.hierarchy import read_hierarchies
from evaluation.construction.judgements import UNUSABLE
from evaluation.inputs.graph import read_graph
from tests.evaluation.graphs import files
from tests.evaluation.scripted_model import scripted

REASONS = "It does all of it."


def graph(folder: Path) -> Path:
    code = {"implementation": "def entropy(p):\n    return -(p * p.log()).sum()", "test": "", "pass_exec": True}
    techniques = [
        {"name": "entropy loss", "description": "Shannon entropy", "code": code},
        {"name": "affine update", "description": "scale and shift", "code": {**code, "implementation": "x = 1"}},
        {"name": "discussion", "description": "", "code": None},
    ]
    return files(folder, {"paper_title": "Tent", "techniques": techniques})


def run(task, folder: Path, *answers: str):
    (log,) = inspect_eval(task, model=scripted(*answers), log_dir=str(folder), display="none", max_connections=1)
    assert log.status == "success", log.error
    return log


def test_pairs_are_judged_and_their_log_is_read(tmp_path: Path) -> None:
    folder = graph(tmp_path / "g")
    log = run(
        tasks.exact_pairs(str(folder)),
        tmp_path / "logs",
        f"{REASONS}\n<verdict>exact</verdict>",
        "I cannot say.",
    )
    assert {name: m.value for name, m in log.results.scores[0].metrics.items()} == {"share_of_best": 1, "unusable": 1}
    judgements, problems = tasks.read_judgements(Path(log.location.removeprefix("file://")))
    assert [(j.item.split("#")[1].split("@")[0], j.verdict) for j in judgements] == [("entropy-loss", "exact")]
    assert len(problems) == 1
    results, _ = measure(read_graph(folder), [], judgements, problems=problems)
    values = {figure.name: figure for figure in results.figures}
    assert values["technique-code pairs: exact"].value == 1.0
    assert values["technique-code pairs: exact"].source == "mockllm/model"
    assert results.problems == tuple(problems)


def test_a_judge_finds_a_counterpart_that_names_do_not_show(tmp_path: Path) -> None:
    folder = graph(tmp_path / "g")
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps({"paper": "Tent", "techniques": [{"name": "entropy loss"}, {"name": "BN modulation"}]}))
    task = tasks.same_techniques(str(folder), str(gold))
    answers = [f"<verdict>{'same' if 'affine-update' in s.id else 'different'}</verdict>" for s in task.dataset]
    log = run(task, tmp_path / "logs", *answers)
    judgements, _ = tasks.read_judgements(Path(log.location.removeprefix("file://")))
    hierarchies, _ = read_hierarchies(gold)
    before, _ = measure(read_graph(folder), hierarchies, [])
    after, _ = measure(read_graph(folder), hierarchies, judgements)
    assert before.scores["weighted recall"] == {"title:tent": 0.5}
    assert after.scores["weighted recall"] == {"title:tent": 1.0}
    assert after.scores["weighted precision"]["title:tent"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ("<verdict>exact</verdict>", "exact"),
        ("not <verdict>exact</verdict> but <verdict> Broader </verdict>", "broader"),
        ("<verdict>perfect</verdict>", UNUSABLE),
        ("<verdict>" * 50_000, UNUSABLE),
    ],
)
def test_the_last_verdict_of_an_answer_counts(answer: str, given: str) -> None:
    assert tasks.read_verdict(answer, "pair") == given
