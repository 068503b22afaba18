"""Text and tables for the width of a terminal. Lines to a pipe are not folded, so that grep sees whole rows."""

import io
import re
import shutil
import textwrap
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

UNBOUNDED = 10_000
_GAP = 2
_HANG = 2
_PROSE = 24
"""The minimum width of a folded text column; narrower columns are not folded."""
_MOST_LINES = 3
_LONGEST_LABEL = 24

_FENCE = re.compile(r"\s*(`{3,})")
_HANGING = re.compile(r"\s*(?:- |\d+\. |> )?")


def width() -> int:
    """The width of the terminal in columns, `UNBOUNDED` without one."""
    return shutil.get_terminal_size((UNBOUNDED, 24)).columns


def wrapped(text: str, columns: int) -> str:
    """The text with long lines folded between words and continued with a deeper indent. Fenced code and overlong words
    stay unchanged."""
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


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int, numbers: Sequence[int] = ()) -> str:
    """Aligned columns if they fit, else a record for each row. The parameters are those of `fitting_table`."""
    if not rows:
        return wrapped((" " * _GAP).join(columns), room)
    return fitting_table(columns, rows, room, numbers) or _records(columns, rows, room)


def fitting_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], room: int, numbers: Sequence[int] = ()
) -> str | None:
    """Aligned columns, with text columns folded into a few lines each; None if they do not fit. `numbers` are
    right-aligned columns. Cells are plain text."""
    natural = [max(map(cell_len, column)) for column in zip(columns, *rows, strict=True)]
    floors = [_floor(column, wide) for column, wide in zip(zip(columns, *rows, strict=True), natural, strict=True)]
    gaps = _GAP * (len(columns) - 1)
    if sum(natural) + gaps <= room:
        widths = natural
    elif sum(floors) + gaps <= room:
        widths = _shared(natural, floors, room - gaps)
        if any(_lines(cell, wide) > _MOST_LINES for row in rows for cell, wide in zip(row, widths, strict=True)):
            return None
    else:
        return None
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for number, (column, wide) in enumerate(zip(columns, widths, strict=True)):
        grid.add_column(Text(column), width=wide, justify="right" if number in numbers else "left", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    return _printed(grid, room + _GAP)


def _floor(column: Sequence[str], natural: int) -> int:
    """The minimum width of a column: text may be folded, ids and numbers may not."""
    if natural <= _PROSE or not any(" " in cell for cell in column):
        return natural
    return max(_PROSE, *(cell_len(word) for cell in column for word in cell.split()))


def _shared(natural: Sequence[int], floors: Sequence[int], room: int) -> list[int]:
    """Widths between floor and natural width that use all of `room`, in proportion to each column's deficit."""
    spare = room - sum(floors)
    lacking = sum(natural) - sum(floors)
    return [floor + spare * (wide - floor) // lacking for wide, floor in zip(natural, floors, strict=True)]


def _lines(cell: str, wide: int) -> int:
    return sum(max(1, len(textwrap.wrap(line, wide))) for line in cell.split("\n")) if cell_len(cell) > wide else 1


def _records(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> str:
    label = min(_LONGEST_LABEL, max(map(cell_len, columns)))
    lines: list[str] = []
    for number, row in enumerate(rows, start=1):
        lines.append(f"-- {number} ".ljust(min(room, 40), "-"))
        for name, cell in zip(columns, row, strict=True):
            first, *more = cell.split("\n") if cell else [""]
            lines += _field(name.ljust(label), first, room)
            lines += [line for each in more for line in _field(" " * label, each, room)]
    return "\n".join(lines)


def _field(label: str, text: str, room: int) -> list[str]:
    lead = f"{label}{' ' * _GAP}"
    return [
        line.rstrip()
        for line in textwrap.wrap(
            text,
            max(room, len(lead) + _PROSE),
            initial_indent=lead,
            subsequent_indent=" " * len(lead),
            break_long_words=False,
            break_on_hyphens=False,
        )
        or [lead]
    ]


def _printed(grid: Table, room: int) -> str:
    out = io.StringIO()
    Console(file=out, width=room, highlight=False, emoji=False, markup=False).print(grid)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())
