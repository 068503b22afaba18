"""The list of papers for a terminal."""

from collections.abc import Mapping

from xkg.cli.display.layout import fitting_table, width, wrapped
from xkg.cli.display.wording import for_people
from xkg.serve.answers.quoting import one_line
from xkg.serve.answers.types import PapersAnswer
from xkg.text.plural import plural

_COLUMNS = ("id", "title", "year", "techniques", "code", "tested", "state")
_NUMBERS = (2, 3, 4, 5)
_LONGEST_TITLE = 100


def paper_table(answer: PapersAnswer, short: Mapping[str, str]) -> str:
    """A row for each paper, or a record if rows are too wide (id, title, and the numbers); then the number of listed
    and omitted papers."""
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
    columns = width()
    return "\n".join([fitting_table(_COLUMNS, rows, columns, _NUMBERS) or _records(answer, short, columns), *notes])


def _records(answer: PapersAnswer, short: Mapping[str, str], columns: int) -> str:
    lines: list[str] = []
    for row in answer.rows:
        lines.append(one_line(short.get(row.id, row.id)))
        year = f"{row.year}, " if row.year else ""
        lines.append(f"  {one_line(row.title)}")
        techniques = plural(row.techniques, "technique")
        lines.append(f"  {year}{techniques}, {row.code} with code, {row.tested} tested; {row.state}")
    return wrapped("\n".join(lines), columns)


def _short(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1].rstrip()}…"
