import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from xkg.cli.display.layout import table, wrapped

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


COLUMNS = ("paper_id", "paper", "state", "techniques", "located")
ROWS = [
    ("adaptive-behavior-cloning", "Adaptive Behavior Cloning for Offline-to-Online Learning", "complete", "5", "0"),
    ("tent", "Tent", "partial", "12", "3"),
]


def test_rows_become_records_where_columns_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    assert table(COLUMNS, ROWS[1:]).splitlines() == [
        "-- 1 -------------------------",
        "paper_id    tent",
        "paper       Tent",
        "state       partial",
        "techniques  12",
        "located     3",
    ]
    monkeypatch.setenv("COLUMNS", "120")
    wide = table(COLUMNS, ROWS, (3, 4)).splitlines()
    assert wide[0].split() == list(COLUMNS)
    assert len(wide) == 3


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
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        shown = table(names, rows)
    letters = re.sub(r"\s", "", shown)
    for row in rows:
        for cell in row:
            assert all(word in letters for word in cell.split() if cell_len(word) <= 12) or len(names) > 1
