"""Runs jobs in parallel, most urgent first. The campaign limits the number of parallel jobs."""

import itertools
import queue
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Slots:
    """Runs work in a pool of `jobs` threads. Work starts in submission order. Fillers start only if nothing else is
    waiting.

    On exit, the context manager waits for running work and drops all work that has not started."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="run")
        self._waiting: queue.PriorityQueue[tuple[bool, int, Future[Any], Callable[[], Any]]] = queue.PriorityQueue()
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, work: Callable[[], T], *, filler: bool = False) -> "Future[T]":
        """Submits work. This method is thread-safe. Running work may also submit work, but must not wait for the
        result."""
        result: Future[T] = Future()
        self._waiting.put((filler, next(self._numbers), result, work))
        self._pool.submit(self._next)
        return result

    def _next(self) -> None:
        _, _, result, work = self._waiting.get_nowait()  # never blocks, because each submission calls `_next` once
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)
