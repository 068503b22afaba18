"""Wraps text and tables to the width of the terminal. Lines written to a pipe are not wrapped, because grep should
match whole rows."""

import io
import re
import shutil
import textwrap
from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

UNBOUNDED = 10_000
_GAP = 2
_HANG = 2
_PROSE = 24
"""The minimum width of a wrapped text column. Ids and numbers are never wrapped."""

_FENCE = re.compile(r"\s*(`{3,})")
_HANGING = re.compile(r"\s*(?:- |\d+\. |> )?")


def width() -> int:
    """Returns the terminal's width in columns, or `UNBOUNDED` if there is no terminal."""
    return shutil.get_terminal_size((UNBOUNDED, 24)).columns


def wrapped(text: str, columns: int) -> str:
    """Wraps long lines between words, and indents the continuation lines. Leaves fenced code and overlong words
    unchanged."""
    if columns >= UNBOUNDED:
        return text
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1] == fence else fence
        elif mark:
            fence = mark[1]
        elif cell_len(line) > columns:
            lines += _folded(line, columns)
            continue
        lines.append(line)
    return "\n".join(lines)


def _folded(line: str, columns: int) -> list[str]:
    begin = _HANGING.match(line)
    lead = begin[0] if begin else ""
    indent = lead if lead.endswith("> ") else " " * (len(lead) + (0 if lead.strip() else _HANG))
    return textwrap.wrap(
        line[len(lead) :],
        columns,
        initial_indent=lead,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [line]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> str:
    """Renders aligned columns with wrapped text. If the columns do not fit in the terminal, renders one record per row
    instead. `numbers` are the indexes of right-aligned columns. Cells are plain text."""
    return fitting_table(columns, rows, numbers) or _records(columns, rows)


def fitting_table(columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> str | None:
    """Renders a table as `table` does, but returns None if the columns do not fit."""
    grid = _grid(show_header=True)
    for number, (name, *cells) in enumerate(zip(columns, *rows, strict=True)):
        is_prose = any(" " in cell for cell in cells)
        widest = max(map(cell_len, (name, *cells)))
        grid.add_column(
            Text(name),
            justify="right" if number in numbers else "left",
            no_wrap=not is_prose,
            min_width=min(widest, _PROSE) if is_prose else widest,
            overflow="fold",
        )
    for row in rows:
        grid.add_row(*map(Text, row))
    console = _console()
    if Measurement.get(console, console.options.update(width=UNBOUNDED), grid).minimum > console.width:
        return None
    return _printed(console, grid)


def _records(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines: list[str] = []
    for number, row in enumerate(rows, start=1):
        console = _console()
        grid = _grid(show_header=False)
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for name, cell in zip(columns, row, strict=True):
            grid.add_row(Text(name), Text(cell))
        lines += [f"-- {number} ".ljust(min(console.width, 40), "-"), _printed(console, grid)]
    return "\n".join(lines)


def _grid(*, show_header: bool) -> Table:
    return Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0), show_header=show_header)


def _console() -> Console:
    return Console(file=io.StringIO(), width=width(), highlight=False, emoji=False, markup=False)


def _printed(console: Console, grid: Table) -> str:
    console.print(grid)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())
