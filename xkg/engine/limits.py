"""Enforces cluster-wide limits on concurrent work. A limit either sets the number of slots, or requires a pause between
turns."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Mapping

from xkg.errors import XkgError


class OverError(XkgError):
    """Raised within an abandoned attempt."""


_OVER = "this attempt was abandoned: another machine is running its item"


class Limits:
    """Grants slots in request order. When an attempt ends, its slots are released, and it cannot get new slots. Use
    each instance from a single event loop."""

    def __init__(self, places: Mapping[str, int]) -> None:
        self._free = dict(places)
        self._waiting: dict[str, deque[tuple[str, asyncio.Future[None]]]] = {}
        self._held: dict[str, Counter[str]] = {}
        self._over: set[str] = set()
        self._next: dict[str, float] = {}  # when each named turn may start next

    async def take(self, attempt: str, name: str, pause: float = 0.0) -> None:
        """Waits for a slot and takes it. If `pause` is set, there is only one slot, and turns start at least that many
        seconds apart. Raises `OverError` if the attempt is over."""
        if attempt in self._over:
            raise OverError(_OVER)
        self._free.setdefault(name, 1)
        queue = self._waiting.setdefault(name, deque())
        if self._free[name] > 0 and not queue:
            self._free[name] -= 1
        else:
            place = asyncio.get_running_loop().create_future()
            queue.append((attempt, place))
            await place
        self._held.setdefault(attempt, Counter())[name] += 1
        if pause:
            await asyncio.sleep(max(0.0, min(pause, self._next.get(name, 0.0) - time.monotonic())))
        if attempt in self._over:
            self._give(attempt, name)
            raise OverError(_OVER)

    async def give(self, attempt: str, name: str, pause: float = 0.0) -> None:
        if pause:
            self._next[name] = time.monotonic() + pause
        self._give(attempt, name)

    async def over(self, attempt: str) -> None:
        """Ends an attempt, even if its process is still running."""
        self._over.add(attempt)
        for queue in self._waiting.values():
            for entry in [entry for entry in queue if entry[0] == attempt]:
                queue.remove(entry)
                if not entry[1].done():
                    entry[1].set_exception(OverError(_OVER))
        for name, count in self._held.pop(attempt, Counter()).items():
            for _ in range(count):
                self._free_one(name)

    def _give(self, attempt: str, name: str) -> None:
        held = self._held.get(attempt)
        if held is None or held[name] <= 0:
            return  # the slot was already returned when the attempt ended
        held[name] -= 1
        if not held.total():
            del self._held[attempt]
        self._free_one(name)

    def _free_one(self, name: str) -> None:
        queue = self._waiting.get(name, deque())
        while queue:
            _, place = queue.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._free[name] += 1
