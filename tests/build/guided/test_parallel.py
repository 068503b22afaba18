import threading
from collections.abc import Callable

import pytest

from xkg.build.guided.parallel import each
from xkg.errors import AnswerError, BudgetError, ModelUnavailableError


def test_results_come_in_the_order_of_the_items_whatever_ends_first() -> None:
    turn = [threading.Event() for _ in range(4)]
    turn[3].set()

    def work(n: int) -> int:
        assert turn[n].wait(60)
        if n:
            turn[n - 1].set()
        return n * n

    assert each(work, range(4), 4) == [0, 1, 4, 9]


@pytest.mark.parametrize("jobs", [1, 3, 0])
def test_no_more_at_a_time_than_allowed(jobs: int) -> None:
    lock, at_once, most = threading.Lock(), 0, 0
    full = threading.Barrier(max(jobs, 1), timeout=60)

    def work(_: int) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        full.wait()
        with lock:
            at_once -= 1

    each(work, range(6), jobs)
    assert most == max(jobs, 1)


def test_nothing_to_do_is_done() -> None:
    assert each(str, [], 4) == []


def failing(error: BaseException, begun: list[int], other_ended: threading.Event) -> Callable[[int], None]:
    """The second of two that begin together fails, and lets the first end."""
    together = threading.Barrier(2, timeout=60)
    failed = threading.Event()

    def work(n: int) -> None:
        begun.append(n)
        if n == 0:
            together.wait()
            assert failed.wait(60)
            other_ended.set()
        elif n == 1:
            together.wait()
            failed.set()
            raise error

    return work


@pytest.mark.parametrize("error", [BudgetError("spent"), ModelUnavailableError("down"), AnswerError("none")])
def test_where_the_model_gave_up_the_rest_is_left_and_what_is_paid_for_ends(error: Exception) -> None:
    begun: list[int] = []
    other_ended = threading.Event()
    with pytest.raises(type(error), match=str(error)):
        each(failing(error, begun, other_ended), range(100), 2)
    assert other_ended.is_set()
    assert len(begun) < 100


def test_the_first_failure_in_order_is_raised() -> None:
    second_failed = threading.Event()

    def work(n: int) -> None:
        if n:
            second_failed.set()
            raise BudgetError("the second")
        assert second_failed.wait(60)
        raise BudgetError("the first")

    with pytest.raises(BudgetError, match="the first"):
        each(work, range(2), 2)


def test_an_interruption_waits_for_nobody() -> None:
    begun, release, ended = threading.Event(), threading.Event(), threading.Event()

    def work(n: int) -> None:
        if n == 0:
            assert begun.wait(60)
            raise KeyboardInterrupt
        begun.set()
        release.wait(60)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        each(work, range(2), 2)
    assert not ended.is_set()
    release.set()
    assert ended.wait(60)
