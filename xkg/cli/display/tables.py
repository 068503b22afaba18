"""Renders lists of papers, and query results as tables, JSON or CSV."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from itertools import chain, count, groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from xkg.cli.display import layout
from xkg.cli.display.wording import for_people
from xkg.serve.answers.quoting import one_line, visible
from xkg.store.graph_store import Table
from xkg.text.plural import plural

if TYPE_CHECKING:
    from xkg.serve.answers.types import PapersAnswer
    from xkg.store.cypher.named_queries import NamedQuery
    from xkg.store.graph_store import Snapshot

_ID = re.compile(r"(?:arxiv|doi|title):.")
_CODE = re.compile(r"@[0-9a-f]{12}$")
_COLUMNS = ("id", "title", "year", "techniques", "code", "tested", "state")
_NUMBERS = (2, 3, 4, 5)
_LONGEST_TITLE = 100


Format = Literal["table", "json", "csv"]


def render(table: Table, format: Format, short: Mapping[str, str] = MappingProxyType({})) -> str:
    """Renders rows as a table with `short` forms of ids, as a JSON list of objects, or as CSV with a header. In JSON,
    repeated column names get the suffixes _2, _3 and so on."""
    if format == "json":
        names = _unique(table.columns)
        return json.dumps([dict(zip(names, row, strict=True)) for row in table.rows], indent=2, default=str) + "\n"
    if format == "csv":
        out = io.StringIO()
        writer = csv.writer(out, dialect="unix")
        writer.writerow(map(visible, table.columns))
        writer.writerows([[visible(_cell(value)) for value in row] for row in table.rows])
        return out.getvalue()
    return _aligned(table, short)


def query_list(queries: "Sequence[NamedQuery]", format: Format) -> str:
    """Renders the named queries. Text output lists the queries by group, with name, summary and parameters. CSV output
    contains one row per query, and JSON output contains all fields."""
    if format == "csv":
        rows = [(each.name, each.group, each.summary, "; ".join(map(str, each.parameters))) for each in queries]
        return render(Table(columns=("name", "group", "summary", "parameters"), rows=tuple(rows)), format)
    if format == "json":
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
    usage = "To run a query: xkg cypher NAME --param NAME=VALUE ...; parameters without '=' are required."
    return layout.wrapped("\n".join([*lines, usage]), layout.width()) + "\n"


def short_ids_in(table: Table, snapshot: "Snapshot") -> dict[str, str]:
    """Returns the shortest references to the papers, techniques and code whose ids are in a table."""
    from xkg.serve.answers.references import short_ids, short_paper

    cells = {cell for row in table.rows for cell in row if isinstance(cell, str) and _ID.match(cell)}
    papers = {paper: short_paper(snapshot, paper) for paper in cells if "#" not in paper}
    techniques = {cell: _CODE.sub("", cell) for cell in cells if "#" in cell}
    short = short_ids(snapshot, list(dict.fromkeys(techniques.values())))
    return papers | {cell: short[own] + cell[len(own) :] for cell, own in techniques.items()}


def _aligned(table: Table, short: Mapping[str, str]) -> str:
    rows = [[visible(short.get(cell, cell)) for cell in map(_cell, row)] for row in table.rows]
    numbers = [
        number
        for number in range(len(table.columns))
        if any(row[number] is not None for row in table.rows)
        and all(isinstance(row[number], int | float | None) for row in table.rows)
    ]
    shown = layout.table([visible(column) for column in table.columns], rows, numbers)
    return f"{shown}\n({plural(len(rows), 'row')})\n"


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


def paper_table(answer: "PapersAnswer", short: Mapping[str, str]) -> str:
    """Renders one row per paper, or one record per paper if the rows are too wide. The last line says how many papers
    are listed and how many are left out."""
    rows = [
        (
            one_line(short.get(row.id, row.id)),
            _short(one_line(row.title)),
            str(row.year or ""),
            *map(str, (row.techniques, row.code, row.tested)),
            row.state,
        )
        for row in answer.rows
    ]
    notes = [f"({answer.searched})", *([f"Left out: {for_people(answer.cut)}."] if answer.cut else [])]
    if not rows:
        return "\n".join(["No such paper.", *notes])
    return "\n".join([layout.fitting_table(_COLUMNS, rows, _NUMBERS) or _paper_records(answer, short), *notes])


def _paper_records(answer: "PapersAnswer", short: Mapping[str, str]) -> str:
    lines: list[str] = []
    for row in answer.rows:
        lines.append(one_line(short.get(row.id, row.id)))
        year = f"{row.year}, " if row.year else ""
        lines.append(f"  {one_line(row.title)}")
        techniques = plural(row.techniques, "technique")
        lines.append(f"  {year}{techniques}, {row.code} with code, {row.tested} tested; {row.state}")
    return layout.wrapped("\n".join(lines), layout.width())


def _short(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1].rstrip()}…"
