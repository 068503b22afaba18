from pathlib import Path

import pytest

from tests.build.paper.pdfs import Put, pdf
from xkg.build.paper.document import Document
from xkg.build.paper.pdf_html.pdf import parse_pdf

SUBJECTS = ("few", "many", "weighted", "light", "heavy", "paired", "merged", "stable", "sorted")
TITLES = [f"On filters of {subject} samples that are drawn again" for subject in SUBJECTS]
BODY = "The filter draws all samples again, one after another."


def entry(title: str) -> list[str]:
    half = len(title) // 2
    cut = title.index(" ", half)
    return ["Author, A. B., Writer, C., and Scholar, D. E.", title[:cut], title[cut + 1 :] + ". In Proceedings of the",
            "Conference on Filters, pp. 10-19. PMLR, 2011."]  # fmt: skip


def listed(x: float, y: float, titles: list[str], first: float, rest: float, gap: float = 0) -> list[Put]:
    """Places the first line of each entry at x + first, and its other lines at x + rest."""
    out = []
    for title in titles:
        for index, line in enumerate(entry(title)):
            out.append(Put(x + (first if index == 0 else rest), y, line))
            y += 12
        y += gap
    return out


def two_columns(first: float, rest: float, gap: float = 0) -> Document:
    left = [Put(55, 60, "1 Introduction", 12, "bold"), *(Put(55, 84 + 12 * n, BODY) for n in range(12)),
            Put(55, 250, "References", 12, "bold"), *listed(55, 270, TITLES[:3], first, rest, gap)]  # fmt: skip
    return parse_pdf(pdf([[*left, *listed(315, 60, TITLES[3:8], first, rest, gap)]]), Path("p.pdf"))


@pytest.mark.parametrize(("first", "rest", "gap"), [(0, 10, 0), (0, 10, 6), (10, 0, 0), (10, 0, 6), (0, 0, 8)])
def test_each_entry_of_two_columns_is_one_reference(first: float, rest: float, gap: float) -> None:
    document = two_columns(first, rest, gap)
    assert [reference.title for reference in document.references] == TITLES[:8]
    assert {reference.year for reference in document.references} == {2011}
    assert "Author" not in document.text.split("References")[0]


def test_hanging_lines_are_not_taken_for_the_column() -> None:
    text = two_columns(0, 10).text
    body = text[: text.index("References")]
    assert body.count(BODY) == 12  # no text of the other column is in between


def test_one_entry_alone_in_the_last_column_is_one_reference() -> None:
    page = [*listed(55, 120, TITLES[:5], 0, 10), *listed(315, 120, TITLES[5:], 0, 10)]
    head = [Put(55, 100, "References", 12, "bold")]
    document = parse_pdf(pdf([[*head, *page], listed(55, 140, TITLES[:1], 0, 10)]), Path("p.pdf"))
    assert [r.title for r in document.references] == [*TITLES, TITLES[0]]


def test_a_number_that_goes_on_in_the_next_line_begins_no_entry() -> None:
    lines = ["1. A. Author. A filter that keeps the mean. 2011. doi:10.1000/", "731. URL https://example.org/filter",
             "2. C. Scholar. Merging of weighted samples. 2013."]  # fmt: skip
    puts = [Put(55, 60, "References", 12, "bold"), *(Put(55, 80 + 12 * n, line) for n, line in enumerate(lines))]
    document = parse_pdf(pdf([[*puts, Put(55, 700, "Set in a filter of one hundred words and a few more of them.")]]),
                         Path("p.pdf"))  # fmt: skip
    assert [r.title for r in document.references][:2] == ["A filter that keeps the mean",
                                                         "Merging of weighted samples"]  # fmt: skip


def test_a_bibliography_in_two_columns_after_a_text_in_one() -> None:
    text = [[Put(55, 60 + 12 * n, f"{BODY} {BODY}") for n in range(40)] for _ in range(8)]
    text[0][0] = Put(55, 60, "1 Introduction", 12, "bold")
    page = [*listed(55, 80, TITLES, 0, 10), *listed(315, 80, TITLES, 0, 10)]
    document = parse_pdf(pdf([*text, [Put(55, 60, "References", 12, "bold"), *page]]), Path("p.pdf"))
    assert [reference.title for reference in document.references] == TITLES * 2


def test_text_after_the_entries_is_no_entry() -> None:
    after = [Put(55, 640 + 20 * n, f"What follows shows plot {n} of the filter.", 11) for n in range(4)]
    page = [Put(55, 60, "1 Introduction", 12, "bold"), *(Put(55, 84 + 12 * n, BODY) for n in range(8)),
            Put(55, 200, "References", 12, "bold"), *listed(55, 220, TITLES[:7], 0, 10, 6), *after]  # fmt: skip
    document = parse_pdf(pdf([page]), Path("p.pdf"))
    assert [reference.title for reference in document.references] == TITLES[:7]


def test_text_after_labelled_entries_is_no_entry() -> None:
    lines = [f"[{number}] {line}" if index == 0 else line for number, title in enumerate(TITLES[:6], 1)
             for index, line in enumerate(entry(title))]  # fmt: skip
    after = [
        [Put(55, 60 + 12 * n, f"• Filter {n} of {1900 + n} draws its samples.") for n in range(50)] for _ in range(5)
    ]
    page = [Put(55, 60, "References", 12, "bold"), *(Put(55, 84 + 12 * n, line) for n, line in enumerate(lines))]
    document = parse_pdf(pdf([page, *after]), Path("p.pdf"))
    assert [reference.title for reference in document.references] == TITLES[:6]
    assert "•" not in (document.references[-1].text or "")
