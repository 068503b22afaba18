"""Limits how many runs several proofs may have in progress at once."""

import contextlib
import threading
from pathlib import Path

from xkg.operating_system import processors
from xkg.sandbox.runner import Limits

_FEWEST = 2


class RunSlots:
    """Limits the number of concurrent runs to `count`. Each run must hold the semaphore `free`."""

    def __init__(self, count: int) -> None:
        self.count = max(1, count)
        self.free = threading.Semaphore(self.count)


def slots_for(limits: Limits) -> RunSlots:
    """Returns one slot per processor available to this process, but fewer if that many runs could not all use their
    full memory limit. If at least two processors are available, the result is at least 2."""
    return RunSlots(min(processors(), max(_FEWEST, _available_mb() // limits.memory_mb)))


def _available_mb() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) >> 10
    return 0
