"""Questions side by side."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from xkg.errors import LanguageModelError

T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], items: Iterable[T], jobs: int) -> list[R]:
    """`work` done on every item, at most `jobs` at a time; results in the order of the items.

    Raises what `work` raises for the first item that fails; what has not begun by then is left undone. Where the model
    gave up, calls under way end first, since they are paid for; where somebody interrupts, nobody waits for them:
    closing the model ends them."""
    pool = ThreadPoolExecutor(max(1, jobs))
    try:
        results = list(pool.map(work, items))
    except LanguageModelError:
        pool.shutdown(cancel_futures=True)
        raise
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return results
