"""Plans as the benchmark validates them: what cannot be used is counted and never raised."""

import json
from typing import Any

import pytest

from evaluation.ablation_bench.plans import read_plan

GOOD = {"name": "A", "ablated_part": "loss", "action": "REPLACE", "replacement": ["L1", 2], "metrics": ["F1"]}


def answer(*rows: dict[str, Any] | str) -> str:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    return "<discussion>It is so.</discussion>\n<predictions>\n" + "\n".join(lines) + "\n</predictions>"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({**GOOD, "action": "SHUFFLE"}, "action"),
        ({**GOOD, "replacement": []}, "replacement is missing"),
        ({**GOOD, "action": "ADD", "replacement": None}, "replacement is missing"),
        ({**GOOD, "replacement": "L1"}, "replacement"),
        ({**GOOD, "metrics": "F1"}, "metrics"),
        ({**GOOD, "name": " "}, "name"),
        ("{broken", "not a JSON object"),
        ("[1]", "not a JSON object"),
        (GOOD, "used twice"),
    ],
)
def test_what_is_wrong_is_left_out_and_counted(row: dict[str, Any] | str, problem: str) -> None:
    plan = read_plan(answer(GOOD, row), 5)
    assert plan.names == ["A"]
    ((found, count),) = plan.problems.items()
    assert (problem in found, count) == (True, 1)
