"""Finds code for a whole task, with a scripted language model."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.llm_endpoint import Answer, ScriptedEndpoint, asked
from tests.serve.verification.test_verifier import SCORING, STEAM, service, verdict
from xkg.errors import InputError
from xkg.serve.answer_text import text

TASK = "Bake a loaf with a soft crust: cut the dough before the oven, keep the crust soft, and keep the bees calm."
STEPS = [
    "cut the dough with a blade before it enters the oven",
    "keep the crust soft while the loaf rises in the oven",
    "rotate the loaf in the oven so that it bakes evenly",
]
KEPT = {STEPS[0]: ("Scoring",), STEPS[1]: ("Steam Injection", "Scoring"), STEPS[2]: ()}


def steps(*texts: str) -> Answer:
    return {"steps": list(texts)}


def model(body: dict[str, Any]) -> Answer:
    if "<<<candidates" not in asked(body):
        return steps(*STEPS)
    step = re.search(r"<<<step (\w+)>>>\n(.*)\n<<<end step \1>>>", asked(body))
    assert step is not None
    return verdict(body, *KEPT[step[2]])


def test_each_part_of_a_task_has_what_serves_it_and_a_technique_is_said_once(graph_copy: Path) -> None:
    with ScriptedEndpoint(model) as endpoint, service(graph_copy, endpoint.url) as with_model:
        answer = with_model.find_implementations(TASK, 2)
        again = with_model.find_implementations(TASK, 2)
        assert len(endpoint.requests) == 4  # one for the list of steps, and one for each step
        assert all(TASK in asked(body) for body in endpoint.requests)  # the questions about steps contain the task
    assert answer == again
    assert [part.step for part in answer.parts] == STEPS
    assert [[row.id for row in part.rows] for part in answer.parts] == [[SCORING], [STEAM], []]
    assert answer.parts[1].rows[0].guidance == "Take Steam Injection over."
    assert [(row.id, row.part, row.guidance) for row in answer.parts[1].again] == [
        (SCORING, 1, "Take Scoring over."),
    ]
    assert "nothing fits" in answer.parts[2].note
    assert (answer.decomposed, answer.verified) == ("by gpt-x", "by gpt-x")
    said = text(answer)
    assert f"as in part 1: Scoring {SCORING}" in said
    assert "nothing fits: write this part yourself" in said


def test_in_full_it_holds_the_code_of_its_rows(graph_copy: Path) -> None:
    with ScriptedEndpoint(model) as endpoint, service(graph_copy, endpoint.url) as with_model:
        full = with_model.find_implementations(TASK, 2, full=True)
        steam = full.parts[1].rows[0]
        assert [code.code for code in full.implementations] == [steam.code]
        assert full.implementations[0].implementation == with_model.code(STEAM).implementation


def test_without_a_model_the_parts_are_those_of_the_text(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XKG_LLM_KEY")
    task = "\n".join(f"- {step}" for step in [*STEPS, *(f"paint the shed in colour number {n}" for n in range(5))])
    with service(graph, None) as without:
        answer = without.find_implementations(task, 1)
        with pytest.raises(InputError, match="the task is empty"):
            without.find_implementations("  ")
    assert answer.decomposed == "by the text's own structure"
    assert answer.verified == "not verified: no API key for the language model is set on this machine"
    assert [row.id for part in answer.parts[:2] for row in part.rows] == [SCORING, STEAM]
    assert [part.number for part in answer.parts] == [1, 2, 3, 4, 5, 6, 7]
    assert answer.parts[-1].step == "the task as a whole"
    assert "2 more parts" in answer.cut
    assert text(answer).count("no API key") == 1
    assert "You are the last check before someone writes code" in answer.question
    assert all(f"For part {part.number}:\n" in answer.candidates for part in answer.parts if part.rows)


def test_without_a_model_a_task_gets_no_less_than_a_search_for_it(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XKG_LLM_KEY")
    task = "cut the dough, steam the crust"
    with service(graph, None) as without:
        rows = [row for part in without.find_implementations(task, 1).parts for row in part.rows]
        answer = without.search(task, 5)
    shown = {id for row in rows for id in (row.id, *(relative.id for relative in row.relatives))}
    searched = {id for row in answer.rows for id in (row.id, *(r.id for r in row.relatives))}
    assert shown >= searched
    assert searched.union(row.id for row in answer.nearest) >= {SCORING, STEAM}
    assert len({row.id for row in rows}) == len(rows)
