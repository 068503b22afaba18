"""Shows the steps of a slow command on stderr: a live line on a terminal, occasional lines elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from xkg.text.unicode import printable_line

LINE_SECONDS = 5.0
"""The interval between lines if stderr is not a terminal."""

Notify = Callable[[str, int, int, str], None]
"""The name of a step, the number done, the total (0 if unknown), and the current item."""


@contextmanager
def steps() -> Iterator[Notify]:
    """Shows each step as it comes, with its elapsed and estimated remaining time."""
    console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
    at = _Step()
    if not console.is_terminal:
        printed = time.monotonic()

        def line(what: str, done: int, total: int, about: str) -> None:
            nonlocal printed
            at.take(what, done, total, about)
            if time.monotonic() - printed >= LINE_SECONDS:
                printed = time.monotonic()
                console.print(at.line())

        yield line
        return
    with Live(get_renderable=at.line, console=console, refresh_per_second=4, transient=True):
        yield at.take


class _Step:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._what, self._about = "", ""
        self._done = self._total = 0
        self._began = time.monotonic()

    def take(self, what: str, done: int, total: int, about: str) -> None:
        with self._lock:
            if what != self._what:
                self._began = time.monotonic()
            self._what, self._done, self._total, self._about = what, done, total, about

    def line(self) -> Text:
        with self._lock:
            gone = time.monotonic() - self._began
            count = f" {self._done}/{self._total}" if self._total else ""
            left = ""
            if self._total > self._done > 0:
                left = f", about {_minutes(gone / self._done * (self._total - self._done))} left"
            about = f": {printable_line(self._about)}" if self._about else ""
            return Text(f"  {self._what}{count}{about}  {_minutes(gone)}{left}", style="dim")


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
