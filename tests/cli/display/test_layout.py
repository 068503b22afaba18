import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from xkg.cli.display.layout import UNBOUNDED, fitting_table, table, wrapped

words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12)
lines = st.lists(words, max_size=40).map(" ".join)


@given(st.lists(lines, max_size=6).map("\n".join), st.integers(40, 120))
def test_folding_changes_nothing_but_spaces(text: str, columns: int) -> None:
    folded = wrapped(text, columns)
    assert folded.split() == text.split() or "```" in text or "> " in text
    assert all(
        cell_len(line) <= columns or max(map(cell_len, line.split())) + len(line) - len(line.lstrip()) > columns - 4
        for line in folded.split("\n")
        if line.isascii() and "```" not in text
    )


def test_what_is_folded_hangs_under_its_beginning() -> None:
    assert wrapped("- a component with a name", 14).splitlines() == ["- a component", "  with a name"]
    assert wrapped("> a quoted line of it", 12).splitlines() == ["> a quoted", "> line of it"]
    assert wrapped("   paper: some title here", 18).splitlines() == ["   paper: some", "     title here"]


def test_code_is_not_folded_and_a_pipe_has_no_width() -> None:
    code = "```python\n" + "x = 1  # " + "long " * 40 + "\n```"
    assert wrapped(code, 80) == code
    text = "word " * 100
    assert wrapped(text, UNBOUNDED) == text


COLUMNS = ("paper_id", "paper", "state", "techniques", "located")
ROWS = [
    ("adaptive-behavior-cloning", "Adaptive Behavior Cloning for Offline-to-Online Learning", "complete", "5", "0"),
    ("tent", "Tent", "partial", "12", "3"),
]


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_of_a_table_is_wider_than_the_terminal(columns: int) -> None:
    shown = table(COLUMNS, ROWS, columns, (3, 4))
    assert max(map(cell_len, shown.splitlines())) <= columns
    flat = " ".join(shown.split())
    assert all(cell in flat for row in ROWS for cell in row if " " not in cell)


def test_rows_become_records_where_columns_do_not_fit() -> None:
    assert table(COLUMNS, ROWS[1:], 30).splitlines() == [
        "-- 1 -------------------------",
        "paper_id    tent",
        "paper       Tent",
        "state       partial",
        "techniques  12",
        "located     3",
    ]
    wide = table(COLUMNS, ROWS, 120, (3, 4)).splitlines()
    assert wide[0].split() == list(COLUMNS)
    assert len(wide) == 3


def test_words_are_never_cut_in_a_folded_column() -> None:
    shown = fitting_table(("id", "title"), [("a" * 30, "Words of a title that is longer than its column")], 60)
    assert shown is not None
    assert set(re.findall(r"\w+", shown)) >= set("Words of a title that is longer than its column".split())
    assert fitting_table(("id", "title"), [("a" * 50, "Words of a title")], 60) is None


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.tuples(
            st.lists(words, min_size=n, max_size=n),
            st.lists(st.lists(lines, min_size=n, max_size=n), max_size=4),
        )
    ),
    st.sampled_from([80, 120]),
)
def test_every_cell_is_in_every_table(content: tuple[list[str], list[list[str]]], columns: int) -> None:
    names, rows = content
    shown = table(names, rows, columns)
    letters = re.sub(r"\s", "", shown)
    for row in rows:
        for cell in row:
            assert all(word in letters for word in cell.split() if cell_len(word) <= 12) or len(names) > 1
