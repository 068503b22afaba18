import pytest

from xkg.build.paper.front_matter import FrontRow, listed_authors

ADA, BO, CY = "Ada Lind", "Bo van der Berg", "Cy Ng"


def below(*texts: str) -> list[FrontRow]:
    return [FrontRow(text) for text in texts]


@pytest.mark.parametrize(
    "row",
    [
        f"{ADA}1,2*, {BO}1 and {CY}2†",
        f"1{ADA}  2{BO}  1,2{CY}",
        f"{ADA},* {BO},* and {CY}*",
        f"{ADA}, Member, IEEE, {BO}, and {CY}, Senior Member, IEEE",
        f"{ADA} (a@b.org), {BO} <bo@b.org>, {CY}",
        f"{ADA} · {BO} · {CY}, Ph.D.",
    ],
)
def test_names_on_one_line(row: str) -> None:
    assert listed_authors(below(row, "1University of Nowhere", "2New York, USA")) == (ADA, BO, CY)


def test_names_above_their_affiliations() -> None:
    rows = [
        FrontRow(f"{ADA}  {BO}", "large"),
        FrontRow("University of Nowhere  Google Research"),
        FrontRow("a@b.org  c@d.org"),
        FrontRow(CY, "large", apart=True),
        FrontRow("Institute of Computing"),
    ]
    assert listed_authors(rows) == (ADA, BO, CY)


def test_rows_that_are_all_apart_alternate_between_names_and_institutions() -> None:
    rows = [FrontRow(text, apart=True) for text in (ADA, "University of Nowhere", "New York", BO, "Berg Institute")]
    assert listed_authors(rows) == (ADA, BO)


def test_a_name_or_a_grade_that_is_cut_at_the_end_of_a_row() -> None:
    assert listed_authors(below(f"{ADA}, Student", f"Member, IEEE, {BO}, and Cy", "Ng")) == (ADA, BO, CY)
    assert listed_authors(below(f"{ADA}, BO SMITH-", "JONES")) == (ADA, "BO SMITH-JONES")


@pytest.mark.parametrize(
    "rows",
    [
        below(ADA, "New York"),  # the line is a place or a second name
        below("Dana Lee Ana Maria* Wei Kim Jun Li*"),  # nothing printed shows where a name ends
        below("No Author Given"),
        below("David S. Hippocampus", "Cranberry-Lemon University"),
        below("Published as a conference paper"),
        [],
    ],
)
def test_in_doubt_nobody(rows: list[FrontRow]) -> None:
    assert listed_authors(rows) == ()
