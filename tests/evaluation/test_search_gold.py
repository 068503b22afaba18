"""Checks that the labelled search queries have the properties that measurements rely on."""

import json
from pathlib import Path
from typing import Any

import evaluation
from xkg.model import paper_of

GOLD = Path(str(evaluation.__file__)).parent / "gold" / "search"


def queries(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLD / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def test_both_halves_are_large_and_half_of_each_has_no_answer() -> None:
    for half in (queries("calibration"), queries("test")):
        present = sum(bool(query["gold"]) for query in half)
        assert len(half) > 300
        assert 0.4 < present / len(half) < 0.6
        assert {query["kind"] for query in half} == {"short", "paraphrase", "task"}


def test_the_halves_share_no_query_and_no_paper() -> None:
    first, second = (queries(name) for name in ("calibration", "test"))
    assert not {query["query"] for query in first} & {query["query"] for query in second}
    ids = [query["id"] for query in (*first, *second)]
    assert len(set(ids)) == len(ids)
    papers = [
        {query["paper"] for query in half} | {paper_of(id) for query in half for group in query["gold"] for id in group}
        for half in (first, second)
    ]
    assert papers[0] & papers[1] == {None}
