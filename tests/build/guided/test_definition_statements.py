from hypothesis import given
from hypothesis import strategies as st

from xkg.build.guided.definition_statements import numbered, statements_of

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


def test_what_only_explains_a_symbol_is_told_with_the_statement_before_it() -> None:
    first = r"Each draw of the walkers is $\mu + \Sigma z$ by a seed;"
    explained = r"$\mu$ and $\Sigma$ are the mean and the covariance functions. The seed is halved after each draw."
    assert statements_of(f"{first} {explained}") == (
        rf"{first} $\mu$ and $\Sigma$ are the mean and the covariance functions.",
        "The seed is halved after each draw.",
    )
    assert len(statements_of("The walker moves to the proposal. $x$ is moved by half of the distance to it.")) == 2


@given(st.text(alphabet="ab $.;!?()[]\\\n", max_size=200))
def test_no_word_is_lost(text: str) -> None:
    assert " ".join(statements_of(text)).split() == text.split()
