"""A clock for pauses and time limits. Tests use a fake clock that never waits."""

import asyncio
import time
from datetime import UTC, datetime


class Clock:
    """The system clock."""

    def now(self) -> float:
        """Returns the seconds since 1970, consistent across processes on this machine."""
        return time.time()

    def monotonic(self) -> float:
        """Returns the seconds since a fixed point in time, unaffected by changes to the system time."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits for this number of seconds."""
        time.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Waits for this number of seconds without blocking the event loop."""
        await asyncio.sleep(seconds)


CLOCK = Clock()


def stamp() -> str:
    """Returns the current time in ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
