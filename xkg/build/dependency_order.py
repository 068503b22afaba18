"""Work on items of which some need others first."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
R = TypeVar("R")


def in_dependency_order(
    work: Callable[[T], R],
    items: Sequence[T],
    needs: Mapping[T, Collection[T]],
    jobs: int,
    *,
    ends: Callable[[R], bool] = lambda _: False,
) -> dict[T, R]:
    """The result of `work` for every item: at most `jobs` at a time, each as soon as all items that it needs are done;
    of those that could begin, the first in `items`. `needs` has no circle, and what it names beside `items` is ignored.

    After a result for which `ends` is true no other item begins, and the results have those of the finished items
    alone. What `work` raises ends it too, and is raised at once, without waiting for what is under way."""
    known = set(items)
    waiting = {item: known.intersection(needs.get(item, ())) for item in dict.fromkeys(items)}
    running: dict[Future[R], T] = {}
    done: dict[T, R] = {}
    ended = False
    pool = ThreadPoolExecutor(max(1, jobs))
    try:
        while True:
            for item in [item for item, open_needs in waiting.items() if open_needs <= done.keys()]:
                if not ended and len(running) < max(1, jobs):
                    del waiting[item]
                    running[pool.submit(work, item)] = item
            if not running:
                return done
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                item = running.pop(future)
                done[item] = future.result()
                ended = ended or ends(done[item])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
