"""Provides a fake engine whose workers are threads of this process."""

from collections.abc import Callable, Sequence

from xkg.engine.engine import Failure, Item, Opened, Result, Site, Work, Worker


class EngineHere:
    """Processes one item at a time, with this process's parsers."""

    jobs = 1

    def workers(self, work: Work[Item, Result], count: int) -> Sequence[Worker[Item, Result]]:
        return [_Here(work) for _ in range(count)]


class _Here(Worker[Item, Result]):
    def __init__(self, work: Work[Item, Result]) -> None:
        self._notify: Callable[[object], None] = lambda _: None
        self._opened = Opened(work, Site(lambda event: self._notify(event)))

    def run(self, item: Item, notify: Callable[[object], None]) -> Result:
        self._notify = notify
        result = self._opened.do(item)
        if isinstance(result, Failure):
            raise result.raised()
        return result

    def stop(self) -> None: ...

    def close(self) -> None:
        self._opened.close()
