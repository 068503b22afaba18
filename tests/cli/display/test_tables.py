import csv
import io
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xkg.cli.display.tables import Format, render
from xkg.serve.answers.quoting import visible
from xkg.store.graph_store import Table

cells = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.text(), max_size=3))
tables = st.integers(1, 4).flatmap(
    lambda width: st.builds(
        Table,
        columns=st.tuples(*[st.text(min_size=1)] * width),
        rows=st.lists(st.tuples(*[cells] * width), max_size=4).map(tuple),
    )
)


@settings(max_examples=10)
@given(tables)
@example(Table(columns=("n", "n", "n_2"), rows=((1, 2, 3),)))
def test_json_and_csv_keep_every_row(table: Table) -> None:
    read = json.loads(render(table, "json"))
    assert [list(row.values()) for row in read] == [list(row) for row in table.rows]
    read = list(csv.reader(io.StringIO(render(table, "csv"), newline="")))
    assert read[0] == [visible(column) for column in table.columns]
    assert len(read) == 1 + len(table.rows)


@pytest.mark.parametrize("format", ["table", "json", "csv"])
def test_a_cell_does_not_speak_to_the_terminal(format: Format) -> None:
    shown = render(Table(columns=("a\x1b[2J",), rows=(("\x1b]0;title\x07b\u202e\x9b1m",),), truncated=False), format)
    assert not set(shown) & set("\x1b\x07\u202e\x9b")


def test_no_rows_are_valid_in_every_format() -> None:
    table = Table(columns=("a", "b"), rows=())
    assert json.loads(render(table, "json")) == []
    assert render(table, "csv") == '"a","b"\n'
    assert render(table, "table").endswith("(0 rows)\n")
