"""Processes items concurrently. Processes each item after the items that it depends on."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from xkg.errors import XkgError

T = TypeVar("T", bound=Hashable)
Item = TypeVar("Item")
R = TypeVar("R")


def each_of(work: Callable[[Item], R], items: Sequence[Item], jobs: int) -> list[R]:
    """Returns the result of `work` for each item, in order. Runs at most `jobs` calls at a time. After an `XkgError`,
    no further items start, and the error is raised once the running items have finished."""

    def attempt(number: int) -> R | XkgError:
        try:
            return work(items[number])
        except XkgError as error:
            return error

    ended = in_dependency_order(attempt, range(len(items)), {}, jobs, ends=lambda result: isinstance(result, XkgError))
    results: list[R] = []
    for _, result in sorted(ended.items()):
        if isinstance(result, XkgError):
            raise result
        results.append(result)
    return results


def waves(items: Sequence[T], needs: Mapping[T, Collection[T]]) -> list[list[T]]:
    """Splits the items into groups. Each item only needs items in earlier groups. Ignores needed names that are not in
    `items`."""
    found: list[list[T]] = []
    waiting = list(items)
    while waiting:
        found.append([item for item in waiting if not set(needs.get(item, ())).intersection(waiting)])
        waiting = [item for item in waiting if item not in found[-1]]
    return found


def in_dependency_order(
    work: Callable[[T], R],
    items: Sequence[T],
    needs: Mapping[T, Collection[T]],
    jobs: int,
    *,
    ends: Callable[[R], bool] = lambda _: False,
) -> dict[T, R]:
    """Returns the result of `work` for every item. Runs at most `jobs` items at a time, and starts each as soon as the
    items that it needs are done. The order of `items` breaks ties. `needs` must not contain cycles. Needed names that
    are not in `items` are ignored.

    Once `ends` returns True for a result, no further items start, and only finished items have results. If `work`
    raises an error, the error is re-raised immediately, without waiting for running items."""
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
