"""Runs questions in parallel."""

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from xkg.errors import LanguageModelError

T = TypeVar("T")
R = TypeVar("R")


def each(work: Callable[[T], R], items: Iterable[T], jobs: int) -> list[R]:
    """The results of `work` for every item, in order, at most `jobs` at a time.

    Raises the error of the first failed item; items that have not started by then are cancelled. After a
    `LanguageModelError`, running calls finish first, since they are paid for. An interrupt does not wait for them:
    closing the model ends them."""
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
