"""Pauses between requests to a server. All processes of a user share the pause.

If several machines work together, a system that they share (a Ray cluster or a Neo4j server) coordinates their requests
(see `share`).

arXiv's terms of use allow one connection at a time and one request every three seconds, counting all of a user's
machines together (https://info.arxiv.org/help/api/tou.html). Machines that share a home folder also share the pause."""

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from xkg.clock import CLOCK, Clock
from xkg.files import file_lock, private_folder, user_cache_folder

Turns = Callable[[str, float], AbstractContextManager[None]]
"""Waits for a turn at a host. Consecutive turns are at least the given number of seconds apart."""


_shared: dict[str, Turns] = {}


def share(place: str, turns: Turns | None) -> None:
    """Coordinates later requests from this process with the other machines that share `place`, so that they take turns.
    If `turns` is None, later requests no longer wait for other machines."""
    _shared.pop(place, None)
    if turns is not None:
        _shared[place] = turns


class Pace:
    """Leaves `seconds` between the end of one request to `host` and the start of the next. A locked file stores the
    time at which the next request may start. If the file cannot be written, the pause applies only within this
    process."""

    def __init__(self, host: str, seconds: float, clock: Clock = CLOCK) -> None:
        self._host = host
        self._path = user_cache_folder() / "pace" / re.sub(r"[^\w.-]", "-", host)
        self._seconds, self._clock = seconds, clock
        self._free_at = 0.0

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Waits until a request is allowed. Blocks other requests until the context exits."""
        if self._seconds <= 0:
            yield
            return
        with contextlib.ExitStack() as held:
            for turns in list(_shared.values()):
                held.enter_context(turns(self._host, self._seconds))
            shared = self._locked(held)
            early = (_read(self._path) if shared else self._free_at) - self._clock.now()
            if early > 0:
                # Limits the wait in case the clock went backwards.
                self._clock.sleep(min(early, self._seconds))
            try:
                yield
            finally:
                self._free_at = self._clock.now() + self._seconds
                if shared:
                    with contextlib.suppress(OSError):
                        self._path.write_text(repr(self._free_at))

    def _locked(self, held: contextlib.ExitStack) -> bool:
        try:
            private_folder(self._path.parent.parent)
            private_folder(self._path.parent)
            held.enter_context(file_lock(self._path))
        except OSError:
            return False
        return os.access(self._path, os.W_OK)


def _read(path: Path) -> float:
    try:
        return float(path.read_text()[:40] or 0)
    except (OSError, ValueError):
        return 0.0
