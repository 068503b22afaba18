"""A definition as numbered statements: nothing lost, formulas whole."""

from hypothesis import given
from hypothesis import strategies as st

from xkg.build.guided.definition_statements import numbered, statements_of, unanswered

DEFINITION = (
    r"Draws $x \sim N(0; 1)$ for each of the $n$ walkers, e.g. by a seed. It accepts the proposal with probability "
    r"$\min(1, a. b)$; otherwise the walker stays. Stops at $t$."
)


def test_sentences_and_what_semicolons_separate_are_statements() -> None:
    assert statements_of(DEFINITION) == (
        r"Draws $x \sim N(0; 1)$ for each of the $n$ walkers, e.g. by a seed.",
        r"It accepts the proposal with probability $\min(1, a. b)$;",
        "otherwise the walker stays. Stops at $t$.",
    )
    assert numbered(DEFINITION).splitlines()[1].startswith("[2] It accepts")


def test_an_answer_speaks_of_every_statement_and_of_no_other() -> None:
    assert unanswered([3, 1, 2, 2], DEFINITION) is None
    assert "nothing is said of 2, 3" in (unanswered([1], DEFINITION) or "")
    assert "no statement 7" in (unanswered([1, 2, 3, 7], DEFINITION) or "")
    assert unanswered([], "") is None


@given(st.text(alphabet="ab $.;!?()[]\\\n", max_size=200))
def test_no_word_is_lost(text: str) -> None:
    assert " ".join(statements_of(text)).split() == text.split()
