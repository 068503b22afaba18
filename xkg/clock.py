"""The clock that pauses and time limits go by. Tests pass a clock of their own, which no one waits for."""

import asyncio
import time


class Clock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since 1970, which all processes of the machine share."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since a fixed moment. A change of the machine's time does not affect them."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Waits for so many seconds."""
        time.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Waits for so many seconds without blocking the event loop."""
        await asyncio.sleep(seconds)


CLOCK = Clock()
