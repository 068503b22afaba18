"""Tests text on a page that was once lost or misread, such as short last lines, indices and lines of formulas."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.build.paper.pdfs import Put, column, pdf
from xkg.build.paper.document import Document
from xkg.build.paper.pdf_html.pdf import parse_pdf
from xkg.build.paper.pdf_html.pdf_kinds import kind_of
from xkg.build.paper.pdf_html.pdf_layout import Placed
from xkg.build.paper.pdf_html.pdf_lines import Line, Run, Style
from xkg.build.paper.plain import plain

HEAD = Put(55, 60, "1 Introduction", 12, "bold")
WIDE = "A particle filter keeps a set of weighted samples of a hidden state, and its samples become alike when they are"
NARROW = "The filter draws all of its samples again, one after another."
WORDS = "merged samples stay where light ones were drawn before the others are seen".split()


def read(*pages: list[Put]) -> Document:
    return parse_pdf(pdf(pages), Path("p.pdf"))


def running(document: Document) -> str:
    return " ".join(plain(document, 0, len(document.text)).split())


def two_columns(y: float, lines: int) -> list[Put]:
    return column([NARROW] * lines, 55, y) + column([NARROW] * lines, 315, y)


@given(st.integers(1, 6))
def test_the_last_line_of_a_caption_across_both_columns_stays_in_it(words: int) -> None:
    last = " ".join(WORDS[:words]) + "."
    caption = column(["Figure 1: " + WIDE, last], 55, 300, size=9, pitch=10.5)
    text = read([HEAD, *two_columns(84, 16), *caption, *two_columns(360, 16)]).text
    assert any(line.startswith("Figure 1: ") and line.endswith(last) for line in text.split("\n"))


@given(st.integers(3, 8))
def test_an_appendix_in_one_column_is_read_line_by_line(words: int) -> None:
    """The gap around a subscript must not split a line, even though the paper has two columns."""
    left, right = " ".join(WORDS[:words]), "that are light, and of all of those that follow them"
    parted = [Put(55, 180, left), Put(57 + 4.6 * len(left), 180, right)]
    page = [Put(55, 60, "A Proofs", 12, "bold"), *column([WIDE] * 8, 55, 84), *parted, *column([WIDE] * 8, 55, 192)]
    text = running(read(*[[HEAD, *two_columns(84, 40)]] * 3, page))
    assert f"when they are {left} {right} A particle" in text


def test_a_caption_in_the_font_of_headings_is_a_caption_to_its_end() -> None:
    caption = [Put(55, 300, "Table 1: Comparison of the filters", 12, "bold"),
               Put(55, 314, "with samples that are light", 12, "bold")]  # fmt: skip
    document = read([HEAD, *column([WIDE] * 4, 55, 84), *caption, *column([WIDE] * 4, 55, 360)])
    assert [section.title for section in document.walk()] == ["Introduction"]
    assert "Table 1: Comparison of the filters with samples that are light" in document.text


def test_a_caption_among_references_is_no_reference_and_not_lost() -> None:
    entries = [f"[{n}] A. Author. A filter that keeps mean {n}. Journal of Filters, 201{n}." for n in range(1, 6)]
    caption = Put(55, 330, "Figure 2: The light samples become fewer with each of the steps.", 9)
    puts = [HEAD, *column([WIDE] * 3, 55, 84), Put(55, 180, "References", 12, "bold"),
            *column(entries[:3], 55, 200), caption, *column(entries[3:], 55, 360)]  # fmt: skip
    document = read(puts)
    assert len(document.references) == 5
    assert "\nFigure 2: The light samples become fewer with each of the steps.\n" in document.text


@given(
    st.lists(st.floats(0, 1).map(lambda share: f"{share:.3f}"), min_size=3, max_size=4),
    st.sampled_from(["MSE", "SimKD [CNN]"]),
)
def test_a_row_of_a_table_among_references_becomes_no_paper(cells: list[str], name: str) -> None:
    entries = [f"[{n}] A. Author. A filter that keeps mean {n}. Journal of Filters, 201{n}." for n in range(1, 6)]
    rows = column([" ".join([f"[{n}] {name}", *cells]) for n in range(6, 9)], 55, 330)
    puts = [HEAD, *column([WIDE] * 3, 55, 84), Put(55, 180, "References", 12, "bold"), *column(entries, 55, 200)]
    assert len(read([*puts, *rows]).references) == 5


def test_a_sentence_that_goes_on_with_the_name_of_a_table_is_no_caption() -> None:
    lines = [WIDE, "Table 6. We compare against the filter that draws its samples once and for all, and find more of",
             "them to be light."]  # fmt: skip
    edge = max(len(line) for line in lines)
    lines = [WIDE + " drawn" * (len(WIDE) < edge), *lines[1:]]
    document = read([HEAD, *column(lines, 55, 84)])
    assert "\nTable 6" not in document.text


@given(st.sampled_from("12nk"), st.sampled_from("12nk"))
def test_an_index_under_another_index_does_not_cut_a_paragraph(upper: str, lower: str) -> None:
    lines = [WIDE, WIDE, WIDE]
    puts = [HEAD, *column(lines, 55, 84), Put(300, 92, upper, 7), Put(300, 99.5, lower, 7)]
    text = running(read(puts))
    assert text.count("A particle filter") == 3


def test_a_line_of_a_sentence_that_is_a_formula_for_the_most_part_stays_in_it() -> None:
    item = [
        "1. Each of the samples must be drawn again from the weights of the filter that were merged before the next"
    ]
    rest = Put(70, 96, "step, z = f + g + h + p(q) + r = s.")
    text = read([HEAD, *column(item, 55, 84), rest, *column([WIDE[:90]], 55, 120)]).text
    assert "before the next step, z = f" in " ".join(text.split())


@given(st.integers(1, 40))
def test_a_numbered_display_in_small_type_has_its_number(number: int) -> None:
    display = [Put(250, 120, "w = p + q", 8.8), Put(530, 120, f"({number})", 8.8)]
    document = read(
        [HEAD, *column([WIDE + " drawn anew"], 55, 84), *display, *column([WIDE + " drawn anew"] * 9, 55, 150)]
    )
    assert [equation.label for equation in document.equations] == [str(number)]


@given(st.text("ABCDEFGH", min_size=1, max_size=30))
def test_small_capitals_do_not_make_a_line_smaller(word: str) -> None:
    large, small = Style(10, False, False, False), Style(8, False, False, False)
    line = Line(1, 0, 100, 0, 10, (Run("We present the C", large), Run(word, small)))
    assert line.size == 10


def test_ligatures_that_a_font_numbers_in_its_own_way_are_read() -> None:
    lines = [
        "An e\x02ective and di\x02erent \x03lter is de\x03ned.",
        "Its \x03rst e\x02ect is a signi\x03cant o\x04set.",
    ]
    text = running(read([HEAD, *column([WIDE] * 4, 55, 84), *column(lines, 55, 140)]))
    assert "An effective and different filter is defined. Its first effect is a significant o set." in text


def test_sections_without_known_names_are_found_by_their_numbers() -> None:
    heads = [Put(55, 60 + 100 * n, f"{n + 1} {name}", 13, "bold") for n, name in enumerate(("Gates", "Rings", "Ends"))]
    texts = [put for n in range(3) for put in column([WIDE] * 4, 55, 84 + 100 * n)]
    document = read([*heads, *texts])
    assert [section.title for section in document.walk()] == ["Gates", "Rings", "Ends"]


def test_letters_without_case_are_text() -> None:
    lines = ["조수 게이트는 거리에 따라 점수를 조절하는 모듈이다.", "門は距離に応じて得点を調節する加群である。"]
    for text in lines:
        line = Line(1, 60, 500, 100, 110, (Run(text, Style(10, bold=False, italic=False, math=False)),))
        assert kind_of((Placed(line, 60, 540, (1, 0), 1),), 10) == "text"
