from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.build.paper.pdfs import Put, pdf
from xkg.build.paper.pdf_html.pdf import parse_pdf
from xkg.build.paper.pdf_html.pdf_rulers import PrintedNumber, ruler_numbers

SENTENCE = "The filter draws all of its samples again, one after another, at step {}."


def test_numbers_close_to_the_text_are_no_words_of_it() -> None:
    lines = [SENTENCE.format(n) for n in range(40)]
    text = [Put(70, 60 + 12 * n, line) for n, line in enumerate(["1 Introduction", *lines])]
    text[0] = Put(70, 60, "1 Introduction", 12, "bold")
    ruler = [Put(58, 60 + 12 * n, f"{n + 108:03}", 6) for n in range(41)]
    document = parse_pdf(pdf([[put for pair in zip(ruler, text, strict=True) for put in pair]]), Path("p.pdf"))
    assert " ".join(lines) in document.text
    assert [section.title for section in document.walk()] == ["Introduction"]


@given(st.integers(20, 60), st.integers(0, 900), st.lists(st.integers(0, 9999), max_size=20), st.floats(50, 400))
def test_what_counts_down_the_page_is_a_ruler_whatever_stands_elsewhere(
    lines: int, first: int, others: list[int], x: float
) -> None:
    ruler = [PrintedNumber(first + n, x, x + 12, 60 + 11 * n) for n in range(lines)]
    elsewhere = [PrintedNumber(value, x + 40 + 5 * n, x + 52 + 5 * n, 60 + n) for n, value in enumerate(others)]
    assert ruler_numbers([*elsewhere, *ruler]) == frozenset(range(len(others), len(others) + lines))


@given(st.lists(st.integers(0, 40), min_size=20, max_size=60))
def test_a_column_of_results_is_none(values: list[int]) -> None:
    ascending = sum(b - a == 1 for a, b in pairwise(values))
    column = [PrintedNumber(value, 100, 112, 60 + 11 * n) for n, value in enumerate(values)]
    assert bool(ruler_numbers(column)) == (ascending >= 0.8 * (len(values) - 1))
