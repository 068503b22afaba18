"""The progress of a build on stderr: one live line on a terminal, plain lines elsewhere, or JSON lines."""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from xkg.build.stage_cache import Begun, Progress, StageReport
from xkg.llm.client import Call
from xkg.sandbox.packages.plan import Installing
from xkg.text.unicode import printable_line

if TYPE_CHECKING:
    from xkg.commands.batch.side_by_side import Event

_NAMED = 2
"""The number of techniques at work that are named."""


@contextmanager
def text_lines(papers: int = 1) -> Iterator[Callable[[object], None]]:
    """Shows the events of a build of this many papers: one line for each finished stage, and below them, on a terminal,
    the current state: papers, stage, techniques, calls, tokens, dollars and time."""
    console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
    display = _Display(console, papers)
    if not console.is_terminal:
        yield display.plain
        return
    with Live(get_renderable=display.line, console=console, refresh_per_second=4, transient=True):
        yield display.live


@contextmanager
def json_lines() -> Iterator[Callable[[object], None]]:
    """Writes the events of a build for programs, one JSON object per line: `begin` and `stage` when a stage begins and
    ends, `progress` within one, `installing` while packages are downloaded, `calls` after calls of the language model.
    `dollars` is the sum so far, null if a price is unknown."""
    display = _Display(Console(file=sys.stderr), 1)
    yield display.as_json


@contextmanager
def json_lines_of_papers() -> "Iterator[Callable[[Event], None]]":
    """`json_lines` for several papers at a time: each line has the `paper` as it was named, calls and dollars are
    totals, and an event `paper` with the paper's row ends one."""
    from xkg.commands.batch.records import Row

    display = _Display(Console(file=sys.stderr), 1)

    def shown(event: "Event") -> None:
        listed, value = event
        if isinstance(value, Row):
            display.write({"event": "paper", "paper": listed.paper, "row": value.model_dump()})
        else:
            display.as_json(value, paper=listed.paper)

    yield shown


class _Display:
    def __init__(self, console: Console, papers: int) -> None:
        self._console = console
        self._lock = threading.Lock()  # the threads that made calls report them
        self._papers = papers
        self._begun = 0
        self._at: Progress | None = None
        self._stage = ""
        self._now = ""
        self._working: dict[str, None] = {}
        self._since = 0.0
        self._calls = self._reused = self._tokens = 0
        self._dollars = 0.0
        self._unpriced = False
        self._started = time.monotonic()

    def plain(self, event: object) -> None:
        """One line for each finished stage and technique."""
        self._take(event)
        if isinstance(event, StageReport):
            self._console.print(f"  {event}")
        elif isinstance(event, Installing) and not event.done_mb:
            self._console.print(f"  {printable_line(str(event))}")
        elif isinstance(event, Progress):
            self._console.print(f"  {event}{self._bill()}")

    def as_json(self, event: object, **about: str) -> None:
        self._take(event)
        match event:
            case StageReport():
                fields: dict[str, object] = {"event": "stage", **event.model_dump()}
            case Progress():
                fields = {"event": "progress", **event.model_dump()}
            case Begun():
                fields = {"event": "begin", **event.model_dump()}
            case Installing():
                fields = {"event": "installing", **event.model_dump()}
            case Call(cached=False):
                fields = {"event": "calls"}
            case _:
                return
        self.write({**fields, **about})

    def write(self, fields: Mapping[str, object]) -> None:
        """One line, with the cost so far."""
        dollars = None if self._unpriced else round(self._dollars, 6)
        line = json.dumps({**fields, "calls": self._calls, "tokens": self._tokens, "dollars": dollars})
        sys.stderr.write(f"{line}\n")  # in one write, since several threads report calls
        sys.stderr.flush()

    def live(self, event: object) -> None:
        """Finished stages; the live line shows the rest."""
        self._take(event)
        if isinstance(event, StageReport):
            self._console.print(f"  {event}")

    def line(self) -> Text:
        """The current state of the build: the stage and the techniques at work, the stage's remaining time if it can be
        estimated, the cost, and the time since the build began."""
        with self._lock:
            parts = [f"paper {self._begun}/{self._papers}"] if self._papers > 1 else []
            if self._at is not None:
                parts.append(f"{self._at.stage} {self._at.done}/{self._at.total}{self._names()}{self._rest(self._at)}")
            elif self._now:
                parts.append(f"{self._now}{self._names()} for {_minutes(time.monotonic() - self._since)}")
            elif self._stage:
                parts.append(f"after {self._stage}")
            else:
                parts.append("starting")
            gone = _minutes(time.monotonic() - self._started)
            return Text("  " + ", ".join(parts) + self._bill() + f"  {gone}", style="dim")

    def _names(self) -> str:
        """The first few techniques at work."""
        names = [printable_line(name) for name in self._working]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f": {', '.join(names[:_NAMED])}{more}" if names else ""

    def _rest(self, at: Progress) -> str:
        """The estimated remaining time of the stage, from the average time of its techniques."""
        if not self._now or not at.done or at.done == at.total:
            return ""
        gone = time.monotonic() - self._since
        return f", about {_minutes(gone / at.done * (at.total - at.done))} left"

    def _take(self, event: object) -> None:
        with self._lock:
            if isinstance(event, StageReport):
                self._begun += event.name == "parse"
                self._stage, self._at = event.name, None
                self._now = ""
                self._working.clear()
            elif isinstance(event, Progress):
                self._at = event
                self._working.pop(event.about, None)
            elif isinstance(event, Begun) and event.about:
                self._working[event.about] = None
            elif isinstance(event, Begun):
                self._now, self._since = event.stage, time.monotonic()
            elif isinstance(event, Installing):
                self._now = printable_line(str(event))
            elif isinstance(event, Call):
                self._calls += not event.cached
                self._reused += event.cached
                self._tokens += event.input_tokens + event.output_tokens
                self._unpriced = self._unpriced or (event.dollars is None and not event.cached)
                self._dollars += event.dollars or 0.0

    def _bill(self) -> str:
        if not self._calls and not self._reused:
            return ""
        reused = f" ({self._reused} more reused)" if self._reused else ""
        cost = "price unknown" if self._unpriced else f"${self._dollars:.2f}"
        return f"  {self._calls} calls{reused}, {self._tokens:,} tokens, {cost}"


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
