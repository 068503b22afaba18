"""Limits how many runs several proofs may have in progress at once."""

import contextlib
import heapq
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

from xkg.operating_system import processors
from xkg.sandbox.runner import Limits

_FEWEST = 2


class RunSlots:
    """Limits the number of concurrent runs to `count`. The waiting run with the shortest expected time goes next, so
    that slow tests do not hold up quick tests. Thread-safe."""

    def __init__(self, count: int) -> None:
        self.count = max(1, count)
        self._free = self.count
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int]] = []
        self._order = itertools.count()

    @contextlib.contextmanager
    def turn(self, expected_seconds: float) -> Iterator[None]:
        """Waits for a free slot, and releases the slot at the end of the `with` block."""
        own = (expected_seconds, next(self._order))
        with self._changed:
            heapq.heappush(self._waiting, own)
            self._changed.wait_for(lambda: self._free > 0 and self._waiting[0] == own)
            heapq.heappop(self._waiting)
            self._free -= 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()


def slots_for(limits: Limits) -> RunSlots:
    """Returns one slot per processor available to this process. There are fewer slots if that many runs at their memory
    limits would not fit in memory. Always returns at least two slots if there are two processors."""
    return RunSlots(min(processors(), max(_FEWEST, _available_mb() // limits.memory_mb)))


def _available_mb() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) >> 10
    return 0
