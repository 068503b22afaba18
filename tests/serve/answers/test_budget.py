"""Checks that answers stay within their token limit, and say which parts they left out."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from xkg.llm.prices import tokens
from xkg.model import Evidence, Level
from xkg.serve.answer_text import text_for_agents
from xkg.serve.answers.budget import TOKENS, Detail, fitted, size
from xkg.serve.answers.types import (
    CodeAnswer,
    Relative,
    SearchAnswer,
    SearchRow,
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
