import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.curation.repository_links import links_in


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("Our code is available at https://github.com/a/b.", "own"),
        ("Code for this project is provided at: github.com/a/b.", "own"),
        ("We release our implementation (https://github.com/a/b).", "own"),
        ("Code: \\url{https://github.com/a/b}", "own"),
        ("We use the implementation from https://github.com/a/b for the baseline.", "named"),
        ("The data set of https://github.com/a/b has 5 tasks.", "named"),
    ],
)
def test_how_a_text_names_a_repository(text: str, role: str) -> None:
    [link] = links_in(text)
    assert (link.url, link.role) == ("https://github.com/a/b", role)


def test_those_of_the_bibliography_are_cited() -> None:
    text = "Nothing. REFERENCES [1] JAX. URL http://github.com/google/jax."
    [link] = links_in(text, text.index("REF"))
    assert link == ("https://github.com/google/jax", "github.com/google/jax", "cited", link.words)


def test_each_once_the_own_first() -> None:
    text = "As in github.com/x/y/tree/main. Our code is at github.com/a/b.git, see https://www.github.com/A/B/issues."
    assert [link.url for link in links_in(text)] == ["https://github.com/a/b", "https://github.com/x/y"]


@given(st.text(st.sampled_from("github.com/ab-_.:hts our code at\n"), max_size=200))
def test_any_text(text: str) -> None:
    for link in links_in(text):
        assert link.url.count("/") == 4
