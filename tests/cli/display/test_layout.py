import pytest

from xkg.cli.display.layout import table, wrapped


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
