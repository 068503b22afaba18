"""Background tasks that run in parallel with the caller, if a processor is free."""

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
    """Starts `work` on another thread, and yields a function that waits for its result. If no thread is free, or the
    work is not `worthwhile`, that function does the work itself. The work has ended when the context ends."""
    if not worthwhile or not _free.acquire(blocking=False):
        yield work
        return

    def released() -> T:
        try:
            return work()
        finally:
            _free.release()  # before the result is available, so that the waiting caller finds the thread free

    begun = _pool.submit(released)
    try:
        yield begun.result
    finally:
        wait([begun])
