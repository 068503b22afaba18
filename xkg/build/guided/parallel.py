"""Questions side by side."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from xkg.errors import LanguageModelError

T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], items: Iterable[T], jobs: int) -> list[R]:
    """`work` done on every item, at most `jobs` at a time; results in the order of the items.

    Raises what `work` raises, for the first item of those that failed; what has not begun by then is left undone. Where
    the model gave up, calls under way end first, since they are paid for; where somebody interrupts, nobody waits for
    them: closing the model ends them."""
    pool = ThreadPoolExecutor(max(1, jobs))
    futures = [pool.submit(work, item) for item in items]
    patient = False
    try:
        ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
        patient = all(isinstance(future.exception(), LanguageModelError | None) for future in ended)
    finally:
        pool.shutdown(wait=patient, cancel_futures=True)
    for future in futures:
        if future.done():
            future.result()
    return [future.result() for future in futures]
