"""Background tasks beside the caller's own work, where a processor is free."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import TypeVar

T = TypeVar("T")

THREADS = max(1, (os.cpu_count() or 1) // 2)
_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="xkg-beside")
_free = BoundedSemaphore(THREADS)


@contextmanager
def beside(work: Callable[[], T], *, worthwhile: bool = True) -> Iterator[Callable[[], T]]:
    """Starts `work` on another thread, and yields the function that waits for its result. Where no thread is free, or
    it is not `worthwhile`, that function does the work itself. The work has ended when the context ends."""
    if not worthwhile or not _free.acquire(blocking=False):
        yield work
        return

    def released() -> T:
        try:
            return work()
        finally:
            _free.release()  # before the result is there, so that whoever has it finds the thread free

    begun = _pool.submit(released)
    try:
        yield begun.result
    finally:
        wait([begun])
