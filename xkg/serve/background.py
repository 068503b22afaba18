"""Work beside the caller's own, where a processor is free for it."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import TypeVar

T = TypeVar("T")

_THREADS = max(1, (os.cpu_count() or 1) // 2)
_pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="xkg-beside")
_free = BoundedSemaphore(_THREADS)


@contextmanager
def beside(work: Callable[[], T], *, worthwhile: bool = True) -> Iterator[Callable[[], T]]:
    """Begins `work` on another thread, and gives what waits for its result, or raises what it raised. Where all threads
    are at work, or it is not `worthwhile`, the caller does it in asking. Nothing of it is left running at the end."""
    if not worthwhile or not _free.acquire(blocking=False):
        yield work
        return
    begun = _pool.submit(work)
    begun.add_done_callback(lambda _: _free.release())
    try:
        yield begun.result
    finally:
        wait([begun])
