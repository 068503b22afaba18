"""Clock for pauses and time limits. Tests pass a fake clock that never waits."""

import asyncio
import time
from datetime import UTC, datetime


class Clock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since 1970, the same for all processes of the machine."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since a fixed moment, unaffected by changes of the system time."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits for this number of seconds."""
        time.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Waits for this number of seconds without blocking the event loop."""
        await asyncio.sleep(seconds)


CLOCK = Clock()


def stamp() -> str:
    """The time now, in ISO 8601, in whole seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")
