"""Shows the progress of slow commands on stderr: one live line on a terminal, occasional lines otherwise."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from xkg.text.unicode import printable_line

Steps = Callable[[str, int, int, str], None]
"""A callback that receives the name of a step, the number done, the total (0 if unknown), and the current item."""

LINE_SECONDS = 5.0
"""The interval between lines from `steps` if stderr is not a terminal."""


@contextmanager
def steps() -> Iterator[Steps]:
    """Shows a slow command's steps, with the elapsed time and an estimate of the remaining time."""
    console = stderr_console()
    step = _Step()
    printed = time.monotonic()

    def plain(what: str, done: int, total: int, about: str) -> None:
        nonlocal printed
        step.take(what, done, total, about)
        if time.monotonic() - printed >= LINE_SECONDS:
            printed = time.monotonic()
            console.print(step.line())

    with shown(console, step.line, step.take, plain) as notify:
        yield notify


def stderr_console() -> Console:
    return Console(file=sys.stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


@contextmanager
def shown(
    console: Console, state: Callable[[], RenderableType], live: Callable[..., None], plain: Callable[..., None]
) -> Iterator[Callable[..., None]]:
    """On a terminal, shows `state` below the output of `live`. Otherwise, prints the output of `plain`."""
    if not console.is_terminal:
        yield plain
        return
    with Live(get_renderable=state, console=console, refresh_per_second=4, transient=True):
        yield live


class _Step:
    def __init__(self) -> None:
        self._at = ("", 0, 0, "")
        self._began = time.monotonic()

    def take(self, what: str, done: int, total: int, about: str) -> None:
        if what != self._at[0]:
            self._began = time.monotonic()
        self._at = (what, done, total, about)

    def line(self) -> Text:
        what, done, total, about = self._at
        count = f" {done}/{total}" if total else ""
        item = f": {printable_line(about)}" if about else ""
        return Text(f"  {what}{count}{item}  {elapsed(self._began)}{time_left(self._began, done, total)}", style="dim")


def time_left(began: float, done: int, total: int) -> str:
    """Returns an estimate of the remaining time, based on the mean time so far."""
    if not 0 < done < total:
        return ""
    return f", about {_minutes((time.monotonic() - began) / done * (total - done))} left"


def elapsed(since: float) -> str:
    return _minutes(time.monotonic() - since)


def _minutes(seconds: float) -> str:
    whole = int(seconds)
    hours = f"{whole // 3600}:{whole // 60 % 60:02}" if whole >= 3600 else f"{whole // 60}"
    return f"{hours}:{whole % 60:02}"
