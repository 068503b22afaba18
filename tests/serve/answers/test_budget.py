"""Answers take no more tokens than they may, and say what they left out."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.llm.prices import tokens
from xkg.model import Evidence, Level, Reference
from xkg.serve.answer_text import text_for_agents
from xkg.serve.answers.budget import TOKENS, Detail, fitted, size
from xkg.serve.answers.types import (
    CodeAnswer,
    CypherAnswer,
    NamedText,
    PaperAnswer,
    Relative,
    SearchAnswer,
    SearchRow,
    TechniqueLine,
)

TEXTS = st.text(st.characters(codec="utf-8"), max_size=1).flatmap(
    lambda char: st.integers(0, 3000).map(lambda n: (char or "word ") * n)
)


def search(definitions: list[str], relatives: int = 2) -> SearchAnswer:
    inside = tuple(Relative(id=f"title:a#b/{n}", name="Name", relation="part of", score=0.5) for n in range(relatives))
    rows = tuple(
        SearchRow(
            id=f"title:a-paper#technique-{n}",
            name=f"Technique {n}",
            paper_title="A paper",
            score=0.7,
            level="none",
            code=None,
            definition=definition,
            relatives=inside,
        )
        for n, definition in enumerate(definitions)
    )
    return SearchAnswer(query="q", rows=rows, searched="all 2 papers", cut="")


def code(implementation: str, **fields: Any) -> CodeAnswer:
    return CodeAnswer(
        id="title:a#b@0123456789ab",
        technique="title:a#b",
        name="B",
        paper_title="A",
        level="executed",
        language="python",
        packages=("numpy",),
        documentation="Does it.",
        implementation=implementation,
        **fields,
    )


@given(st.lists(TEXTS, max_size=30), st.sampled_from(["concise", "full"]))
@settings(max_examples=60, deadline=None)
def test_an_answer_is_within_its_budget_in_both_forms(definitions: list[str], detail: Detail) -> None:
    whole = search(definitions)
    answer = fitted(whole, detail, more=lambda n: f"after {n}" if n < len(whole.rows) else None)
    assert size(answer) <= TOKENS[detail]
    assert tokens(text_for_agents(answer)) <= TOKENS[detail]
    if answer != whole:
        assert answer.cut
    if len(answer.rows) < len(whole.rows):
        assert answer.cursor == f"after {len(answer.rows)}"
        assert answer.rows
    else:
        assert answer.cursor is None


def test_what_fits_stays_as_it_is() -> None:
    small = search(["short"] * 3)
    assert fitted(small, "concise") == small


def test_texts_end_before_rows_do_and_all_at_one_length() -> None:
    answer = fitted(search(["long " * 400, "brief", "long " * 900], 0), "concise")
    assert len(answer.rows) == 3
    first, second, third = (row.definition for row in answer.rows)
    assert second == "brief"
    assert abs(len(first) - len(third)) <= 1
    assert len(first) > 500  # as long as there is room for
    assert answer.cut.startswith("texts after ")


def test_relatives_end_before_rows_do() -> None:
    answer = fitted(search(["x"] * 5, 9), "concise")
    assert len(answer.rows) == 5
    assert "lists after" in answer.cut


def test_code_ends_between_lines_and_says_where_the_rest_is() -> None:
    lines = [f"value_{n} = {n}  # line\n" for n in range(3000)]
    answer = fitted(code("".join(lines)), "full", whole="xkg://code/x")
    kept = answer.implementation.splitlines(keepends=True)
    assert kept == lines[: len(kept)]
    assert 500 < len(kept) < 3000
    assert f"the code after line {len(kept)}" in answer.cut
    assert answer.uri == "xkg://code/x"
    assert "xkg://code/x" in text_for_agents(answer)
    assert size(answer) <= TOKENS["full"]


def test_one_endless_line_and_odd_facts_do_not_break_it() -> None:
    evidence = Evidence(level=Level.EXECUTED, output_end="x" * 90_000, covered_lines=tuple(range(20_000)))
    answer = fitted(code("x" * 100_000, evidence=(evidence,), claims={"a": ["b" * 90_000]}), "full", whole="xkg://c")
    assert size(answer) <= TOKENS["full"]
    assert answer.implementation == ""
    assert answer.uri == "xkg://c"


def test_a_paper_keeps_its_techniques_longest() -> None:
    names = tuple(TechniqueLine(id=f"title:a#t{n}", name=f"T{n}", depth=0, level="none") for n in range(8))
    paper = PaperAnswer(
        id="title:a",
        title="A",
        authors=tuple(f"Author {n}" for n in range(400)),
        year=None,
        origin="build",
        state="complete",
        abstract="word " * 4000,
        techniques=names,
        repositories=(),
        findings=tuple(NamedText(name=f"Finding {n}", description="d" * 300) for n in range(50)),
        resources=(),
        references=tuple(Reference(title=f"Title {n}", text="t" * 500) for n in range(200)),
    )
    answer = fitted(paper, "concise", whole="xkg://paper/title%3Aa")
    assert answer.techniques == names
    assert size(answer) <= TOKENS["concise"]
    assert len(fitted(paper, "full", whole="xkg://paper/title%3Aa").references or ()) > len(answer.references or ())


@pytest.mark.parametrize("cell", ["蜂" * 50_000, ["x" * 1000] * 900, {"a": "b" * 90_000}])
def test_cells_of_any_kind_are_cut(cell: Any) -> None:
    rows = tuple((n, cell) for n in range(20))
    answer = fitted(CypherAnswer(columns=("n", "cell"), rows=rows), "concise", more=lambda n: "c" if n < 20 else None)
    assert size(answer) <= TOKENS["concise"]
    assert answer.rows
    assert answer.cut


def test_ids_and_lists_in_cells_stay_whole_where_texts_are_cut() -> None:
    ids = [f"title:{'a-rather-long-title-' * 6}#technique-{n}" for n in range(40)]
    rows = tuple((each, "A long definition of it. " * 20, ["12-14 names it", each]) for each in ids)
    asked = CypherAnswer(columns=("id", "text", "focus"), rows=rows)
    answer = fitted(asked, "concise", more=lambda n: "c" if n < 40 else None)
    assert size(answer) <= TOKENS["concise"]
    assert [(row[0], row[2]) for row in answer.rows] == [(row[0], row[2]) for row in rows[: len(answer.rows)]]
    assert answer.rows[0][1].endswith("…")


def test_what_is_left_out_leaves_its_room_to_the_rest() -> None:
    paper = PaperAnswer(
        id="title:a",
        title="A",
        authors=("A. Author", "B. Author"),
        year=2020,
        origin="build",
        state="complete",
        abstract="An abstract of some length. " * 20,
        techniques=(TechniqueLine(id="title:a#b", name="B", depth=0, level="executed"),),
        repositories=(),
        findings=(NamedText(name="Found", description="It works. " * 30),),
        resources=(),
        implementations=(code("x = 1\n" * 20_000),),
    )
    answer = fitted(paper, "full", whole="xkg://paper/title%3Aa")
    assert size(answer) <= TOKENS["full"]
    assert (answer.authors, answer.abstract, answer.findings) == (paper.authors, paper.abstract, paper.findings)
    assert answer.cut == "the code of all techniques but 0: read its uri"
