"""Provides a clock that never waits."""

import time

from xkg.clock import Clock


class TurnedClock(Clock):
    """A clock that moves only when a test moves it or the code pauses. `pauses` lists the length of each pause in
    seconds."""

    def __init__(self) -> None:
        self._at = time.time()
        self.pauses: list[float] = []

    def now(self) -> float:
        return self._at

    def monotonic(self) -> float:
        return self._at

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.turn(seconds)

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)

    def turn(self, seconds: float) -> None:
        self._at += seconds
