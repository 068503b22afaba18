"""Shows a batch: live progress on stderr, and the report as lines and as a page."""

import io
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from xkg.build.stage_cache import Progress, StageReport
from xkg.cli.display.layout import width
from xkg.commands.batch.paper_list import ListedPaper
from xkg.commands.batch.records import Row
from xkg.commands.batch.run import BatchReport
from xkg.commands.batch.side_by_side import Event
from xkg.engine.engine import BegunAgain
from xkg.errors import InputError
from xkg.llm.client import Call
from xkg.text.plural import plural
from xkg.text.unicode import printable_line

_INDENT = 7
_STYLES = {"built": "green", "unchanged": "dim", "partial": "yellow", "failed": "red"}


@contextmanager
def display(papers: int, jobs: int) -> Iterator[Callable[[Event], None]]:
    """Shows a batch of this many papers: one line for each finished paper, and below them, on a terminal, the papers at
    work with counts, calls, dollars and the remaining time."""
    console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
    state = _State(console, papers, jobs)
    if not console.is_terminal:
        yield state.take
        return
    with Live(get_renderable=state.live, console=console, refresh_per_second=4, transient=True):
        yield state.take


class _State:
    def __init__(self, console: Console, papers: int, jobs: int) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._papers, self._jobs = papers, jobs
        self._started = time.monotonic()
        self._at: dict[int, tuple[str, str, float]] = {}
        self._ended = self._failed = self._calls = 0
        self._seconds: list[float] = []
        self._dollars = 0.0

    def take(self, event: Event) -> None:
        listed, value = event
        with self._lock:
            name, _, since = self._at.get(listed.line, (printable_line(listed.paper), "", time.monotonic()))
            match value:
                case Row():
                    self._end(listed, value)
                case StageReport():
                    self._at[listed.line] = (name, f"after {value.name}", since)
                case Progress():
                    self._at[listed.line] = (name, f"{value.stage} {value.done}/{value.total}", since)
                case BegunAgain():
                    self._console.print(f"  {'':11} again     {'':9}  {name}: {printable_line(value.reason)}")
                case Call():
                    self._calls += not value.cached
                    self._dollars += value.dollars or 0.0

    def live(self) -> Table:
        """The papers at work and the overall state."""
        with self._lock:
            table = Table.grid(padding=(0, 2))
            for name, stage, since in self._at.values():
                table.add_row("", Text(name[-50:]), Text(stage, style="dim"), _duration(time.monotonic() - since))
            table.add_row("", Text(self._summary(), style="dim"))
            return table

    def _end(self, listed: ListedPaper, row: Row) -> None:
        self._at.pop(listed.line, None)
        self._ended += 1
        self._failed += row.state in ("failed", "partial")
        if row.seconds:
            self._seconds.append(row.seconds)
        what = printable_line(row.reason) if row.reason else plural(row.techniques, "technique")
        self._console.print(
            f"  {self._ended:>5}/{self._papers:<5} {row.state:<10}{row.seconds:7.1f} s  "
            f"{printable_line(row.paper or row.name)}: {what}"
        )

    def _summary(self) -> str:
        bill = f", {self._calls} calls, ${self._dollars:.2f}" if self._calls else ""
        left = self._papers - self._ended
        mean = sum(self._seconds) / len(self._seconds) if self._seconds else None
        rest = f", about {_duration(mean * left / self._jobs)} left" if mean is not None and left else ""
        gone = _duration(time.monotonic() - self._started)
        return f"{self._ended}/{self._papers} papers, {self._failed} failed{bill}, {gone}{rest}"


def _duration(seconds: float) -> str:
    whole = int(seconds)
    hours = f"{whole // 3600}:{whole // 60 % 60:02}" if whole >= 3600 else f"{whole // 60}"
    return f"{hours}:{whole % 60:02}"


def lines(report: BatchReport) -> Iterator[Text | Padding]:
    """The rows of a report and their sum, with failure reasons and notes below each row; a note that concerns several
    papers appears once, at the end."""
    counts = Counter(note for row in report.rows for note in dict.fromkeys(row.notes))
    for row in report.rows:
        code = ", ".join(f"{n} {level}" for level, n in row.levels.items())
        hidden = f", {sum(row.hidden.values())} hidden (xkg show says why)" if row.hidden else ""
        code = f", code: {code}" if code else ""
        found = f"{plural(row.techniques, 'technique')}{hidden}{code}"
        cost = f", ${row.cost_usd:.2f}" if row.cost_usd else ""
        line = Text(f"{row.line:>5}  ")
        line.append(f"{row.state:<10}", style=_STYLES[row.state])
        line.append(f"{row.seconds:7.1f} s  {printable_line(row.title or row.name)}")
        yield line
        about = [f"{row.paper}: {found}{cost}" if row.paper else "", row.reason]
        alone = [note for note in dict.fromkeys(row.notes) if counts[note] == 1 and note not in row.reason]
        for more in (*about, *(f"note: {note}" for note in alone)):
            if more:
                yield Padding(Text(printable_line(more), style="dim"), (0, 0, 0, _INDENT), expand=False)
    for note, count in counts.items():
        if count > 1:
            yield Text(f"note of {count} papers: {printable_line(note)}", style="dim")
    for note in report.notes:
        yield Text(f"note: {printable_line(note)}", style="dim")
    yield Text(str(report))


def show(report: BatchReport) -> None:
    """Prints a report on stdout."""
    _print(Console(file=sys.stdout, width=width(), highlight=False, emoji=False), report)


def require_place(path: Path) -> None:
    """Raises `InputError` if a page cannot be written to this file, so that hours of building are not wasted."""
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"the report {path} cannot be written: name a file in a folder that is there")


def page(report: BatchReport, path: Path) -> None:
    """Writes a report as an HTML page without scripts. Raises `InputError` if the file cannot be written."""
    console = Console(record=True, file=io.StringIO(), width=10_000, emoji=False, highlight=False)
    _print(console, report)
    try:
        path.write_text(console.export_html(), encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"the report {path} cannot be written ({error.strerror}): name another file") from error


def _print(console: Console, report: BatchReport) -> None:
    for line in lines(report):
        console.print(line)
