"""Rows for a query and for its phrasings."""

from collections.abc import Mapping, Sequence

import pytest

from xkg.serve.answers.types import Relative, SearchRow
from xkg.serve.verification.rewriting import MOST_PHRASINGS, objection, rows


def row(name: str, *relatives: str) -> SearchRow:
    inside = tuple(Relative(id=other, relation="has part", score=0.1) for other in relatives)
    fields = {"name": name, "paper_title": "", "score": 0.5, "level": "none", "code": None, "definition": ""}
    return SearchRow.model_validate({"id": name, "relatives": inside, **fields})


def fused(found: Mapping[str, Sequence[SearchRow]], most: int = 12) -> list[SearchRow]:
    return rows(lambda text: found.get(text, ()), "query", [text for text in found if text != "query"], most)


def test_without_phrasings_the_rows_are_those_of_the_query() -> None:
    assert fused({"query": [row("a"), row("b"), row("c")]}, 2) == [row("a"), row("b")]


def test_what_only_a_phrasing_finds_is_among_the_first_rows() -> None:
    own = [row(name) for name in "abcdefghijkl"]
    found = fused({"query": own, "one": [row("new")], "two": [row("a")]})
    assert [other.id for other in found[:6]].count("new") == 1
    assert len(found) == 12
    assert found[0].id == "a"


def test_what_the_query_and_a_phrasing_find_comes_before_what_one_of_them_finds() -> None:
    found = fused({"query": [row("a"), row("b")], "one": [row("b"), row("c")]})
    assert [other.id for other in found] == ["b", "a", "c"]


def test_what_stands_inside_a_row_is_no_row_but_its_first_relative() -> None:
    found = fused({"query": [row("whole", "x", "y", "part")], "one": [row("part", "whole")]})
    assert [other.id for other in found] == ["whole"]
    assert [relative.id for relative in found[0].relatives] == ["part", "x", "y"]


@pytest.mark.parametrize(
    ("phrasings", "wrong"),
    [([], "give 1 to"), ([" "], "has 1 to"), (["x" * 601], "has 1 to"), (["x"] * (MOST_PHRASINGS + 1), "give 1 to")],
)
def test_phrasings_that_cannot_be_used_are_refused(phrasings: list[str], wrong: str) -> None:
    assert wrong in str(objection(phrasings))
    assert objection(["Layer normalization: …", "x"]) is None
