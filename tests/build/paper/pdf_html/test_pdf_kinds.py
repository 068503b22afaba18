"""Tests paragraphs that a figure or a formula interrupts."""

from pathlib import Path

from tests.build.paper.pdfs import Put, column, pdf
from xkg.build.paper.document import Document
from xkg.build.paper.pdf_html.pdf import parse_pdf
from xkg.build.paper.plain import plain

HEAD = [Put(60, 60, "1 Introduction", 12, "bold")]
WIDE = "A particle filter keeps a set of weighted samples of a hidden state, and its samples become alike when they are"


def read(*puts: Put) -> Document:
    return parse_pdf(pdf([[*HEAD, *puts]]), Path("p.pdf"))


def test_an_equation_has_its_number_and_the_words_beside_it() -> None:
    document = read(
        *column([WIDE, "drawn again. The weight of a sample is given by the density, written as"], 60, 84),
        Put(250, 120, "w = p + 1"), Put(540, 120, "(7)"),
        Put(60, 144, "or, equivalently,"),
        Put(250, 168, "w = 2 + p"), Put(540, 168, "(8)"),
        *column(["which is the form that all of the code of the filter has, since it is computed with fewer steps."],
                60, 192),
    )  # fmt: skip
    assert [equation.label for equation in document.equations] == ["7", "8"]
    assert "or, equivalently," in document.text


def test_a_sentence_about_a_figure_is_no_caption() -> None:
    sentence = [
        "Figure 3 shows how the weights of all samples change with the number of steps that the filter",
        "takes.",
    ]
    caption = "Figure 3: The weights of all samples over the number of steps that the filter takes in a run."
    document = read(*column([*sentence, "", "", caption], 60, 84))
    section = document.walk()[0]
    text = plain(document, section.body_start, section.end)
    assert (
        "Figure 3 shows how the weights of all samples change with the number of steps that the filter takes." in text
    )


def test_appendices_have_their_letters() -> None:
    puts = [*column([WIDE], 60, 84), Put(60, 120, "References", 12, "bold"),
            Put(60, 140, "[1] A. Author. A filter that keeps the mean. Journal of Filters, 2011."),
            Put(60, 180, "A Proofs", 12, "bold"), *column([WIDE], 60, 204),
            Put(60, 240, "B Details", 12, "bold"), *column([WIDE], 60, 264)]  # fmt: skip
    found = [(s.number, s.title, s.appendix) for s in read(*puts).walk()]
    assert found[-2:] == [("A", "Proofs", True), ("B", "Details", True)]


def test_a_lone_word_a_is_no_letter() -> None:
    puts = [*column([WIDE], 60, 84), Put(60, 120, "A Filter of Samples", 12, "bold"), *column([WIDE], 60, 144),
            Put(60, 180, "2 Method", 12, "bold"), *column([WIDE], 60, 204)]  # fmt: skip
    assert "Filter of Samples" not in [section.title for section in read(*puts).walk()]
