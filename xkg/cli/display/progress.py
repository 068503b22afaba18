"""Shows progress on stderr: one live line or table on a terminal, plain lines or JSON lines otherwise."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from xkg.build.stage_cache import Begun, Progress, StageReport
from xkg.cli.display.live import elapsed, shown, stderr_console, time_left
from xkg.commands.batch.records import Row
from xkg.engine.engine import BegunAgain
from xkg.llm.client import Call
from xkg.sandbox.packages.plan import Installing
from xkg.text.plural import plural
from xkg.text.unicode import printable_line

Notify = Callable[[Any], None]
_NAMED = 2
"""The maximum number of techniques in progress that are shown by name."""

_EVENTS = {
    "StageReport": "stage",
    "Progress": "progress",
    "Begun": "begin",
    "Installing": "installing",
    "StepTaken": "step",
    "Call": "calls",
}


@contextmanager
def text_lines() -> Iterator[Notify]:
    """Shows events from a build or an implementation. Prints one line per step and finished stage. Without a terminal,
    also prints one line per technique. On a terminal, also shows the current state below these lines."""
    console = stderr_console()
    display = _Build(console)
    with shown(console, display.line, display.live, display.plain) as notify:
        yield notify


@contextmanager
def lines_of_papers(papers: int) -> Iterator[Notify]:
    """Shows the builds of several papers. Prints one line per finished paper. On a terminal, also shows the papers in
    progress and a summary below these lines."""
    console = stderr_console()
    display = _Papers(console, papers)
    with shown(console, display.table, display.take, display.take) as notify:
        yield notify


@contextmanager
def json_lines() -> Iterator[Notify]:
    """Writes events for programs, with one JSON object per line. Each object contains the calls, tokens and dollars so
    far (null if a price is unknown). The events are `begin`, `stage`, `progress`, `installing`, `step`, and `calls`
    after each language model call. If there are several papers, each line contains the `paper` as the user specified
    it. At the end of each build, writes a `paper` event with the paper's row."""
    bill = _Bill()

    def notify(event: Any) -> None:
        about: dict[str, object] = {}
        if isinstance(event, tuple) and not hasattr(event, "_asdict"):  # this event comes from one of several papers
            listed, event = event
            about["paper"] = listed.paper
        bill.take(event)
        fields = event._asdict() if hasattr(event, "_asdict") else getattr(event, "model_dump", dict)()
        name = _EVENTS.get(type(event).__name__, "")
        if isinstance(event, Row):
            name, fields = "paper", {"row": fields}
        elif isinstance(event, Call):
            name, fields = "" if event.cached else name, {}
        if name:
            dollars = None if bill.dollars is None else round(bill.dollars, 6)
            cost = {"calls": bill.calls, "tokens": bill.tokens, "dollars": dollars}
            sys.stderr.write(
                json.dumps({"event": name, **cost, **fields, **about}) + "\n"
            )  # one write, because several threads call this function
            sys.stderr.flush()

    yield notify


class _Bill:
    """Sums the language model calls so far, which several threads report."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls = self._reused = self.tokens = 0
        self.dollars: float | None = 0.0

    def take(self, event: Any) -> None:
        if type(event).__name__ == "StepTaken":
            self.dollars = event.dollars  # this sum includes earlier sessions of the run
        if not isinstance(event, Call):
            return
        with self._lock:
            self.calls += not event.cached
            self._reused += event.cached
            self.tokens += event.input_tokens + event.output_tokens
            if not event.cached:
                unknown = self.dollars is None or event.dollars is None
                self.dollars = None if unknown else (self.dollars or 0) + (event.dollars or 0)

    def __str__(self) -> str:
        if not self.calls and not self._reused:
            return ""
        reused = f" ({self._reused} more reused)" if self._reused else ""
        cost = "price unknown" if self.dollars is None else f"${self.dollars:.2f}"
        return f"{plural(self.calls, 'call')}{reused}, {self.tokens:,} tokens, {cost}"


class _Build:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._bill = _Bill()
        self._at: Progress | None = None
        self._state = "starting"
        self._working: dict[str, None] = {}
        self._started = time.monotonic()
        self._since: float | None = None  # when the stage began

    def plain(self, event: object) -> None:
        self.live(event)
        if isinstance(event, Progress):
            bill = f"  {self._bill}" if str(self._bill) else ""
            self._console.print(f"  {event}{bill}")
        elif isinstance(event, Installing) and not event.done_mb:
            self._console.print(f"  {printable_line(str(event))}")

    def live(self, event: Any) -> None:
        self._take(event)
        if isinstance(event, StageReport):
            self._console.print(f"  {event}")
        elif type(event).__name__ == "StepTaken":
            dollars = "" if event.dollars is None else f"  ${event.dollars:.3f}"
            metric = "" if event.metric is None else f"  metric {event.metric:g}"
            outcome = printable_line(event.outcome)[:90]
            self._console.print(f"  {event.number:>3}  {event.action:<24}{outcome}{dollars}{metric}")

    def line(self) -> Text:
        """Returns the stage, the techniques in progress, the cost and the elapsed time. Includes an estimate of the
        stage's remaining time if it is known."""
        with self._lock:
            names = [printable_line(name) for name in self._working]
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            at = f": {', '.join(names[:_NAMED])}{more}" if names else ""
            if self._at is not None:
                state = f"{self._at.stage} {self._at.done}/{self._at.total}{at}"
                state += "" if self._since is None else time_left(self._since, self._at.done, self._at.total)
            else:
                state = f"{self._state}{at}"
            bill = f"  {self._bill}" if str(self._bill) else ""
            return Text(f"  {state}{bill}  {elapsed(self._started)}", style="dim")

    def _take(self, event: Any) -> None:
        self._bill.take(event)
        with self._lock:
            if isinstance(event, StageReport):
                self._state, self._at, self._since = f"after {event.name}", None, None
                self._working.clear()
            elif isinstance(event, Progress):
                self._at = event
                self._working.pop(event.about, None)
            elif isinstance(event, Begun) and event.about:
                self._working[event.about] = None
            elif isinstance(event, Begun):
                self._state, self._since = event.stage, time.monotonic()
            elif isinstance(event, Installing):
                self._state = printable_line(str(event))
            elif type(event).__name__ == "StepTaken":
                self._state = f"after {event.action}"


class _Papers:
    def __init__(self, console: Console, papers: int) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._bill = _Bill()
        self._papers = papers
        self._started = time.monotonic()
        self._at: dict[int, tuple[str, str, float]] = {}
        self._ended = self._failed = 0

    def take(self, event: tuple[Any, object]) -> None:
        listed, value = event
        self._bill.take(value)
        with self._lock:
            name, _, since = self._at.get(listed.line, (printable_line(listed.paper), "", time.monotonic()))
            match value:
                case Row():
                    self._at.pop(listed.line, None)
                    self._end(value)
                case StageReport():
                    self._at[listed.line] = (name, f"after {value.name}", since)
                case Progress():
                    self._at[listed.line] = (name, f"{value.stage} {value.done}/{value.total}", since)
                case BegunAgain():
                    self._console.print(f"  {'':11} again     {'':9}  {name}: {printable_line(value.reason)}")

    def table(self) -> Table:
        """Returns the papers in progress and a summary."""
        with self._lock:
            table = Table.grid(padding=(0, 2))
            for name, stage, since in self._at.values():
                table.add_row("", Text(name[-50:]), Text(stage, style="dim"), elapsed(since))
            left = time_left(self._started, self._ended, self._papers)
            bill = f", {self._bill}" if str(self._bill) else ""
            summary = (
                f"{self._ended}/{self._papers} papers, {self._failed} failed{bill}, {elapsed(self._started)}{left}"
            )
            table.add_row("", Text(summary, style="dim"))
            return table

    def _end(self, row: Row) -> None:
        self._ended += 1
        self._failed += row.state in ("failed", "partial")
        what = printable_line(row.reason) if row.reason else plural(row.techniques, "technique")
        self._console.print(
            f"  {self._ended:>5}/{self._papers:<5} {row.state:<10}{row.seconds:7.1f} s  "
            f"{printable_line(row.paper or row.name)}: {what}"
        )
