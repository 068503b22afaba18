"""Plans as the benchmark validates them: what cannot be used is counted and never raised."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.ablation_bench.answers import read_jsonl, read_plan

GOOD = {"name": "A", "ablated_part": "loss", "action": "REPLACE", "replacement": ["L1", 2], "metrics": ["F1"]}


def answer(*rows: dict[str, Any] | str) -> str:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return "<discussion>It is so.</discussion>\n<predictions>\n" + "\n".join(lines) + "\n</predictions>"


def test_a_plan_is_read_in_its_order() -> None:
    plan = read_plan(answer(GOOD, "", {**GOOD, "name": "B", "action": "REMOVE", "replacement": None}), 5)
    assert [(e.name, e.action, e.replacement) for e in plan.entries] == [
        ("A", "REPLACE", ("L1", "2")),
        ("B", "REMOVE", ()),
    ]
    assert not plan.problems
    assert read_jsonl(plan.jsonl(), 5).entries == plan.entries


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({**GOOD, "action": "SHUFFLE"}, "unknown action"),
        ({**GOOD, "action": None}, "unknown action"),
        ({**GOOD, "replacement": []}, "missing replacement"),
        ({**GOOD, "action": "ADD", "replacement": None}, "missing replacement"),
        ({**GOOD, "replacement": "L1"}, "replacement is no list"),
        ({**GOOD, "metrics": "F1"}, "metrics are no list of texts"),
        ({**GOOD, "name": " "}, "no name or ablated part"),
        ("{broken", "line that is no JSON object"),
        ("[1]", "line that is no JSON object"),
        (GOOD, "name used twice"),
    ],
)
def test_what_is_wrong_is_left_out_and_counted(row: dict[str, Any] | str, problem: str) -> None:
    plan = read_plan(answer(GOOD, row), 5)
    assert plan.names == ["A"]
    assert plan.problems == {problem: 1}


def test_entries_beyond_the_limit_are_counted() -> None:
    plan = read_plan(answer(*({**GOOD, "name": str(n)} for n in range(8))), 5)
    assert plan.names == ["0", "1", "2", "3", "4"]
    assert plan.problems == {"entry beyond the first 5": 3}


def test_predictions_outside_the_tags_are_not_taken() -> None:
    plan = read_plan(f"Here you are:\n{json.dumps(GOOD)}", 5)
    assert plan.entries == ()
    assert plan.problems == {"no predictions between the tags": 1, "prediction outside the tags": 1}


def test_a_form_that_is_quoted_first_does_not_count() -> None:
    text = "I answer as <predictions>\n{}\n</predictions>, namely:\n" + answer(GOOD)
    assert read_plan(text, 5).names == ["A"]
    assert read_plan("<predictions>\n" + json.dumps(GOOD), 5).problems == {"predictions without an end": 1}


@given(st.text(max_size=300), st.integers(1, 3))
def test_any_text_is_read(text: str, k: int) -> None:
    for plan in (read_plan(text, k), read_jsonl(text, k)):
        assert len(plan.entries) <= k
        assert read_jsonl(plan.jsonl(), k).entries == plan.entries
