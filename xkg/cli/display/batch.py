"""Shows the report of a batch as lines or as an HTML page."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from xkg.cli.display.layout import width
from xkg.commands.batch.run import BatchReport
from xkg.errors import InputError
from xkg.text.plural import plural
from xkg.text.unicode import printable_line

_INDENT = 7
_STYLES = {"built": "green", "unchanged": "dim", "partial": "yellow", "failed": "red"}


def lines(report: BatchReport) -> Iterator[Text | Padding]:
    """Yields the rows of a report, each followed by failure reasons and notes, and then the total."""
    for row in report.rows:
        code = ", ".join(f"{n} {level}" for level, n in row.levels.items())
        hidden = f", {sum(row.hidden.values())} hidden (see `xkg show`)" if row.hidden else ""
        code = f", code: {code}" if code else ""
        found = f"{plural(row.techniques, 'technique')}{hidden}{code}"
        cost = f", ${row.cost_usd:.2f}" if row.cost_usd else ""
        line = Text(f"{row.line:>5}  ")
        line.append(f"{row.state:<10}", style=_STYLES[row.state])
        line.append(f"{row.seconds:7.1f} s  {printable_line(row.title or row.name)}")
        yield line
        about = [f"{row.paper}: {found}{cost}" if row.paper else "", row.reason]
        for more in (*about, *(f"note: {note}" for note in dict.fromkeys(row.notes) if note not in row.reason)):
            if more:
                yield Padding(Text(printable_line(more), style="dim"), (0, 0, 0, _INDENT), expand=False)
    for note in report.notes:
        yield Text(f"note: {printable_line(note)}", style="dim")
    yield Text(str(report))


def show(report: BatchReport) -> None:
    """Prints a report on stdout."""
    _print(Console(file=sys.stdout, width=width(), highlight=False, emoji=False), report)


def require_place(path: Path) -> None:
    """Raises `InputError` if a page cannot be written to this file. Checking before a build avoids hours of wasted
    work."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"the report {path} cannot be written; choose a file in an existing folder")


def page(report: BatchReport, path: Path) -> None:
    """Writes a report as an HTML page without scripts. Raises `InputError` if the file cannot be written."""
    console = Console(record=True, file=io.StringIO(), width=10_000, emoji=False, highlight=False)
    _print(console, report)
    try:
        path.write_text(console.export_html(), encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"the report {path} cannot be written ({error.strerror}); choose another file") from error


def _print(console: Console, report: BatchReport) -> None:
    for line in lines(report):
        console.print(line)
