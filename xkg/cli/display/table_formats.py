"""Query results for a terminal, a program or a spreadsheet."""

import csv
import io
import json
import shutil
from collections.abc import Sequence
from itertools import chain, count, groupby
from typing import TYPE_CHECKING, Literal

from xkg.store.graph_store import Table

if TYPE_CHECKING:
    from xkg.store.cypher.named_queries import NamedQuery


def render(table: Table, format: Literal["table", "json", "csv"]) -> str:
    """The rows as aligned columns, as a JSON list of objects (repeated column names get _2, _3), or as CSV with a
    header."""
    if format == "json":
        names = _unique(table.columns)
        return json.dumps([dict(zip(names, row, strict=True)) for row in table.rows], indent=2, default=str) + "\n"
    if format == "csv":
        out = io.StringIO()
        writer = csv.writer(out, dialect="unix")
        writer.writerow(table.columns)
        writer.writerows([[_cell(value) for value in row] for row in table.rows])
        return out.getvalue()
    return _aligned(table)


def query_list(queries: "Sequence[NamedQuery]", as_json: bool) -> str:
    """Named queries under their groups: name, what it answers, parameters; as JSON with all that is known of each."""
    if as_json:
        fields = ("name", "group", "summary", "parameters", "example", "statements")
        all_of_each = [{field: getattr(query, field) for field in fields} for query in queries]
        return json.dumps(all_of_each, indent=2, default=vars) + "\n"
    lines: list[str] = []
    for group, members in groupby(queries, key=lambda query: query.group):
        lines += [group]
        for query in members:
            lines += [f"  {query.name}", f"    {query.summary}"]
            lines += [f"    {parameter}  ({parameter.description})" for parameter in query.parameters]
            lines += [f"    {query.example}"] if query.parameters else []
        lines += [""]
    return (
        "\n".join([*lines, "xkg cypher NAME --param NAME=VALUE ... runs one; a parameter without '=' is required."])
        + "\n"
    )


def _aligned(table: Table) -> str:
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    from xkg.serve.answers.quoting import visible

    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        grid.add_column(Text(visible(column)), overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(visible(_cell(value))) for value in row))
    out = io.StringIO()
    # A pipe has no width: lines are as long as they need to be, so that grep sees whole rows.
    width = shutil.get_terminal_size((10_000, 24)).columns
    Console(file=out, width=width, highlight=False).print(grid)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    count = f"{len(table.rows)} row" + ("s" if len(table.rows) != 1 else "")
    return "\n".join([*lines, f"({count})"]) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _unique(columns: tuple[str, ...]) -> list[str]:
    names: list[str] = []
    for column in columns:
        candidates = chain([column], (f"{column}_{n}" for n in count(2)))
        names.append(next(name for name in candidates if name not in names))
    return names
