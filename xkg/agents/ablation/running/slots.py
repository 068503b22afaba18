"""Runs at a time: as many as a campaign has jobs, the urgent ones first."""

import itertools
import queue
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Slots:
    """`jobs` threads. Work begins in the order in which it was given, a filler only where nothing else waits.

    Leaving the context waits for what has begun, and drops what has not."""

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
        """Safe to call from several threads, from work itself too (which must not wait for the result)."""
        result: Future[T] = Future()
        self._waiting.put((filler, next(self._numbers), result, work))
        self._pool.submit(self._next)
        return result

    def _next(self) -> None:
        _, _, result, work = self._waiting.get_nowait()  # as many calls as there is work
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)
