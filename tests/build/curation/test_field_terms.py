"""Terms of a field, from titles of references and the target's own text."""

from hypothesis import given
from hypothesis import strategies as st

from xkg.build.curation.field_terms import field_terms

TITLES = (
    "Black-box variational inference",
    "Variational inference with normalizing flows",
    "Score matching for variational inference",
    "Sliced score matching",
    "On the score of a river",
)


def test_terms_are_what_titles_share_and_the_text_uses() -> None:
    text = "We fit by score-matching steps. Variational inference, in our view, needs score matching."
    assert field_terms(TITLES, text) == ("variational inference", "score matching")
    assert field_terms(TITLES, text, most=1) == ("variational inference",)
    assert field_terms(TITLES, "We measure rivers.") == ()


def test_words_that_join_others_make_no_term() -> None:
    assert field_terms(("Learning of the filter", "A theory of the filter"), "theory of the filter") == ()


@given(st.lists(st.text(max_size=60), max_size=8), st.text(max_size=200))
def test_any_titles_give_few_terms_none_within_another(titles: list[str], text: str) -> None:
    terms = field_terms([*titles, *titles], text)
    assert len(terms) <= 4
    assert not any(one != other and one in other for one in terms for other in terms)
