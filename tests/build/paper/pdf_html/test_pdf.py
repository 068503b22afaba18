import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build.paper.pdfs import Put, column, encrypted, pdf, scan
from xkg.build.paper.document import Document
from xkg.build.paper.pdf_html.pdf import parse_pdf
from xkg.build.paper.plain import plain
from xkg.build.paper.read import parse_paper
from xkg.errors import InputError, UnsafeInputError

LEFT, RIGHT = 60, 320
FIRST_LEFT = [
    "Abstract",
    "We sort particles by their weight and merge the",
    "lightest ones. The merged particles keep the mean",
    "of the whole set, which plain sampling does not.",
    "",
    "# 1 Introduction",
    "",
    "A particle filter keeps a set of weighted samples of",
    "a hidden state. Its samples become alike when they",
    "are drawn again, a problem that is known as impover-",
    "ishment. We change only the step that draws them a-",
    "gain, and leave the rest of the well-known method as",
    "it is. The filter stays simple.",
    "\tOur filter needs no tuning and no more memory than",
    "the plain filter does, since the number of samples is",
    "the same in every step of the filter that we propose",
]
FIRST_RIGHT = [
    "and in every step of the well-known plain filter.",
    "",
    "# 2 Method",
    "",
    "# 2.1 Weight Sorting",
    "",
    "Weight sorting puts the samples into the order of their",
    "weights, so that the lightest samples stand side by side",
    "and can be merged without a search over all the pairs.",
    "",
    "# 2.2 Light Merging",
    "",
    "Light merging replaces two neighbours by one sample",
    "at their weighted mean. It is repeated until the number",
    "of samples that is left is half of what it was before.",
]
SECOND = [
    "Algorithm 1 Light merging",
    "1: sort the samples by weight",
    "2: for each pair of neighbours do",
    "3: replace both by their weighted mean",
    "4: end for",
    "",
    "",
    "We repeat the merging in every step of the filter, and",
    "we draw new samples around those that are left over.",
    "",
    "Figure 1: How two samples become one sample by",
    "merging them at their weighted mean.",
    "",
    "# References",
    "",
    "[1] A. Author and B. Writer. A filter that keeps the mean",
    "of its samples. Journal of Filters, 2011.",
    "[2] C. Scholar. Merging of weighted samples. Journal of",
    "Sampling, 2013.",
]


def first_page() -> list[Put]:
    return [
        Put(120, 80, "Merging Light Particles: A Filter", 17, "bold"),
        Put(190, 100, "That Keeps the Mean", 17, "bold"),
        Put(230, 125, "Ada Writer and Ben Scholar", 11),
        Put(30, 600, "arXiv:1203.01234v2 [stat.CO] 5 Mar 2012", 20, turned=True),
        *column(FIRST_LEFT, LEFT, 170),
        *column(FIRST_RIGHT, RIGHT, 170),
        Put(300, 760, "1"),
    ]


def paper() -> bytes:
    second = [Put(60, 40, "Merging Light Particles", 9), *column(SECOND, LEFT, 100), Put(300, 760, "2")]
    third = [Put(60, 40, "Merging Light Particles", 9), Put(300, 760, "3")]
    return pdf([first_page(), second, third])


@pytest.fixture(scope="module")
def document() -> Document:
    return parse_pdf(paper(), Path("filter.pdf"))


def test_front_matter(document: Document) -> None:
    assert document.format == "pdf"
    assert document.title == "Merging Light Particles: A Filter That Keeps the Mean"
    assert document.authors == ("Ada Writer", "Ben Scholar")
    assert (document.arxiv_id, document.year) == ("1203.01234", 2012)
    assert document.abstract.startswith("We sort particles by their weight and merge the lightest ones.")
    assert document.abstract.endswith("which plain sampling does not.")


def test_columns_are_read_one_after_the_other_and_sections_are_found(document: Document) -> None:
    assert [(s.level, s.number, s.title) for s in document.walk()] == [
        (1, "1", "Introduction"),
        (1, "2", "Method"),
        (2, "2.1", "Weight Sorting"),
        (2, "2.2", "Light Merging"),
        (1, None, "References"),
    ]
    introduction = document.walk()[0]
    text = plain(document, introduction.body_start, introduction.end)
    assert "known as impoverishment. We change only the step that draws them again, and leave" in text
    assert "rest of the well-known method as it is." in text
    assert "in every step of the filter that we propose and in every step of the well-known plain filter." in text
    assert text.count("\n\n") == 1  # the second paragraph continues in the right column


def test_running_heads_and_page_numbers_are_out(document: Document) -> None:
    assert document.text.count("Merging Light Particles") == 1
    assert "\n2\n" not in document.text
    assert "arXiv:" not in document.text


def test_algorithm_caption_and_references(document: Document) -> None:
    [algorithm] = document.algorithms
    assert algorithm.title == "Light merging"
    assert algorithm.body.split("\n")[-1] == "end for"
    section = document.walk()[3]
    text = plain(document, section.body_start, section.end)
    assert "How two samples" not in text
    assert text.endswith("draw new samples around those that are left over.")
    assert [(r.title, r.year) for r in document.references] == [
        ("A filter that keeps the mean of its samples", 2011),
        ("Merging of weighted samples", 2013),
    ]


def test_offsets_lead_to_pages_and_their_lines(document: Document) -> None:
    at = document.text.index("Light merging replaces")
    assert document.place(at) == ("filter.pdf#page=1", 25)
    assert document.place(document.walk()[3].start) == ("filter.pdf#page=1", 24)
    assert document.place(document.algorithms[0].start) == ("filter.pdf#page=2", 1)
    assert document.place(document.text.index("We repeat the merging")) == ("filter.pdf#page=2", 6)


def test_capitals_are_read_as_words_and_acronyms_stay() -> None:
    lines = [
        "# I. INTRODUCTION",
        "",
        "The SMC sampler draws samples in steps, which is slow.",
        "",
        "# II. SMC IN STEPS",
        "",
    ]
    document = parse_pdf(
        pdf([column([*lines, "It draws samples, one after the other, in many steps."], 60, 100)]), Path("p.pdf")
    )
    assert [(s.number, s.title) for s in document.walk()] == [("I", "Introduction"), ("II", "SMC in Steps")]


def test_characters_of_markdown_are_text() -> None:
    words = "We use a_b and c_d, 2 * 3 * 4, `this` and <b> for $x and $y in C:\\dir of the table."
    lines = ["# 1 Introduction", "", words, "The rest of the paragraph is as plain as it can be."]
    document = parse_pdf(pdf([column(lines, 60, 100)]), Path("p.pdf"))
    assert "a_b and c_d, 2 ∗ 3 ∗ 4" in plain(document, document.walk()[0].body_start, len(document.text))
    assert not document.emphases


def test_references_of_which_no_two_begin_at_one_place_are_kept() -> None:
    lines = ["# 1 Introduction", "", "A filter draws its samples again, one after the other.", "", "# References"]
    body = [Put(60 + 7 * n, 180 + 12 * n, f"A. Author. On filters of {word} samples. 201{n}.") for n, word in
            enumerate(("few", "many", "weighted", "light"))]  # fmt: skip
    document = parse_pdf(pdf([[*column(lines, 60, 100), *body]]), Path("p.pdf"))
    text = " ".join(reference.text or "" for reference in document.references)
    assert all(f"On filters of {word} samples." in text for word in ("few", "many", "weighted", "light"))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (scan(), "has no text, only images.*OCR"),
        (
            pdf([column(["Z R O b U T O b # / 3 D 0 S @ K A W , + 1 0 & 4 ( + ' / > O D c % $ &"] * 5, 60, 99)]),
            "no readable text.*OCR",
        ),
        (encrypted(), "is encrypted; save it without a password"),
        (paper()[:2000], "damaged or truncated PDF; download it again"),
        (b"%PDF-1.4\nnothing\n%%EOF\n", "damaged or truncated PDF"),
        (pdf([]), "damaged|has no text"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "paper.pdf"
    path.write_bytes(content)
    with pytest.raises(InputError, match=what) as raised:
        parse_paper(path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_file_without_pages_after_an_encrypted_one_is_not_called_encrypted() -> None:
    for content, what in ((encrypted(), "encrypted"), (pdf([]), "damaged|has no text")):
        with pytest.raises(InputError, match=what):
            parse_pdf(content, Path("paper.pdf"))


def test_a_book_is_no_paper(tmp_path: Path) -> None:
    path = tmp_path / "book.pdf"
    path.write_bytes(pdf([[Put(72, 72, "page")]] * 1001))
    with pytest.raises(UnsafeInputError, match="1001 pages"):
        parse_paper(path)


def test_a_file_that_arxiv_named_carries_the_id(tmp_path: Path) -> None:
    (tmp_path / "2101.00001v3.pdf").write_bytes(pdf([column(FIRST_LEFT, 60, 100)]))
    assert parse_paper(tmp_path / "2101.00001v3.pdf").arxiv_id == "2101.00001"


PUTS = st.builds(
    Put,
    x=st.floats(-50, 700),
    y=st.floats(-50, 900),
    text=st.text(st.characters(codec="cp1252", exclude_categories=["Cc"]), min_size=1, max_size=60),
    size=st.sampled_from([0.5, 7, 9, 10, 12, 30]),
    font=st.sampled_from(["roman", "bold", "italic"]),
    turned=st.booleans(),
)


@settings(max_examples=30)
@given(st.lists(st.lists(PUTS, max_size=25), min_size=1, max_size=3))
def test_anything_that_is_printed_gives_a_document_or_one_line(pages: list[list[Put]]) -> None:
    try:
        document = parse_pdf(pdf(pages), Path("p.pdf"))
    except InputError:
        return
    edges = [edge for span in document.spans for edge in (span.start, span.end)]
    assert edges == sorted(edges)
    assert edges[-1] <= len(document.text)
    assert plain(document, 0, len(document.text)).count("\0") == 0


@settings(max_examples=25)
@given(st.integers(0, 4000), st.binary(min_size=1, max_size=20))
def test_a_damaged_file_is_read_or_refused(at: int, noise: bytes) -> None:
    data = paper()
    with contextlib.suppress(InputError):
        assert parse_pdf(data[:at] + noise + data[at + len(noise) :], Path("p.pdf")).format == "pdf"


def test_paragraphs_before_the_first_section_are_the_abstract() -> None:
    front = ["We sort particles by their weight and merge the lightest ones of the whole set of", "particles, and keep "
             "the mean of the whole set, which plain sampling of the set does not", "keep, so that the filter needs no "
             "more memory than a plain one and stays simple."]  # fmt: skip
    page = [Put(120, 60, "Merging Light Particles: A Filter", 17, "bold"), Put(200, 90, "Ada Writer and Ben Scholar"),
            *column(front, 100, 120), Put(60, 200, "1 Introduction", 12, "bold"),
            *column(["A particle filter keeps a set of weighted samples of a hidden state of the world."] * 8, 60, 225),
            ]  # fmt: skip
    document = parse_pdf(pdf([page]), Path("p.pdf"))
    assert document.abstract == " ".join(front)


@pytest.mark.parametrize("font", ["bold", "italic"])
def test_a_run_in_head_begins_a_paragraph_and_names_it(font: str) -> None:
    plain_line = "A particle filter keeps a set of weighted samples of a hidden state, one after another."
    page = [Put(60, 60, "1 Introduction", 12, "bold"), *column([plain_line] * 6, 60, 84),
            Put(60, 156, "Light Merging [4].", 10, font), Put(150, 156, "It replaces two neighbours by their mean."),
            Put(60, 168, "The mean is weighted.")]  # fmt: skip
    if font == "italic":  # a gap separates the heading, because an italic word could belong to the sentence
        page = [put._replace(y=put.y + 8) if put.y > 150 else put for put in page]
    document = parse_pdf(pdf([page]), Path("p.pdf"))
    assert [(s.title, s.level) for s in document.walk()] == [("Introduction", 1), ("Light Merging", 4)]


def test_authors_are_read_by_row_with_raised_marks_and_without_a_subtitle() -> None:
    page = [
        Put(60, 60, "Ripples Everywhere in Slow Energies", 17, "bold"),
        Put(60, 80, "Causal Ripples, Model Control", 17, "bold"),
        *(Put(60, 110, "Ada Lind", 12), Put(110, 106, "1,*", 7), Put(330, 110, "Cy Ng", 12)),
        *(Put(60, 125, "University of Nowhere"), Put(330, 125, "Google Research")),
        *column(
            ["# Abstract", *["We sort particles by their weight and merge the lightest ones in every step."] * 4],
            60,
            160,
        ),
    ]
    assert parse_pdf(pdf([page]), Path("p.pdf")).authors == ("Ada Lind", "Cy Ng")
