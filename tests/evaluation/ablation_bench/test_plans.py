"""Plans as the benchmark validates them: what cannot be used is counted and never raised."""

import json
from typing import Any

import pytest

from evaluation.ablation_bench.plans import read_jsonl, read_plan

GOOD = {"name": "A", "ablated_part": "loss", "action": "REPLACE", "replacement": ["L1", 2], "metrics": ["F1"]}


def answer(*rows: dict[str, Any] | str) -> str:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return "<discussion>It is so.</discussion>\n<predictions>\n" + "\n".join(lines) + "\n</predictions>"


def test_a_plan_is_read_in_its_order_from_the_last_tags() -> None:
    rows = answer(GOOD, "", {**GOOD, "name": "B", "action": "REMOVE", "replacement": None})
    plan = read_plan("I answer as <predictions>\n{}\n</predictions>, namely:\n" + rows, 5)
    assert [(e.name, e.action, e.replacement) for e in plan.entries] == [
        ("A", "REPLACE", ("L1", "2")),
        ("B", "REMOVE", ()),
    ]
    assert not plan.problems
    assert read_jsonl(plan.jsonl(), 5).entries == plan.entries


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({**GOOD, "action": "SHUFFLE"}, "action"),
        ({**GOOD, "replacement": []}, "replacement is missing"),
        ({**GOOD, "action": "ADD", "replacement": None}, "replacement is missing"),
        ({**GOOD, "replacement": "L1"}, "replacement"),
        ({**GOOD, "metrics": "F1"}, "metrics"),
        ({**GOOD, "name": " "}, "name"),
        ("{broken", "no JSON object"),
        ("[1]", "no JSON object"),
        (GOOD, "used twice"),
    ],
)
def test_what_is_wrong_is_left_out_and_counted(row: dict[str, Any] | str, problem: str) -> None:
    plan = read_plan(answer(GOOD, row), 5)
    assert plan.names == ["A"]
    ((found, count),) = plan.problems.items()
    assert (problem in found, count) == (True, 1)


def test_entries_beyond_the_limit_and_outside_the_tags_do_not_count() -> None:
    plan = read_plan(answer(*({**GOOD, "name": str(n)} for n in range(8))), 5)
    assert (plan.names, plan.problems.total()) == (["0", "1", "2", "3", "4"], 3)
    plan = read_plan(f"Here you are:\n{json.dumps(GOOD)}", 5)
    assert (plan.entries, plan.problems.total()) == ((), 1)
