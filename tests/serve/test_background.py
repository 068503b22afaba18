import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from xkg.serve import background
from xkg.serve.background import THREADS, beside


@pytest.fixture(autouse=True)
def own_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those of the process may still be at work for a test before."""
    with ThreadPoolExecutor(THREADS) as pool:
        monkeypatch.setattr(background, "_pool", pool)
        monkeypatch.setattr(background, "_free", threading.BoundedSemaphore(THREADS))
        yield


def test_work_goes_on_beside_the_callers_own() -> None:
    met = threading.Barrier(2, timeout=60)
    with beside(met.wait) as result:
        met.wait()
        assert result() in (0, 1)


def test_what_the_work_raises_reaches_whoever_asks() -> None:
    def broken() -> int:
        raise ValueError("no index")

    with beside(broken) as result, pytest.raises(ValueError, match="no index"):
        result()
    with beside(broken):
        pass


def test_nothing_is_left_running_where_the_caller_fails() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        time.sleep(0.05)
        ended.set()

    def fails() -> None:
        with beside(work):
            assert begun.wait(60)
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert ended.is_set()


def test_who_finds_no_thread_free_does_the_work_alone() -> None:
    go_on = threading.Event()
    callers = []

    def occupied() -> None:
        with beside(lambda: go_on.wait(60)) as result:
            result()

    others = [threading.Thread(target=occupied) for _ in range(THREADS)]
    for other in others:
        other.start()
    try:
        until = threading.Event()
        for _ in range(1000):
            with beside(lambda: callers.append(threading.current_thread())) as result:
                result()
            if callers[-1] is threading.current_thread():
                break
            until.wait(0.01)
        assert callers[-1] is threading.current_thread()
    finally:
        go_on.set()
        for other in others:
            other.join()
    with beside(lambda: callers.append(threading.current_thread()), worthwhile=False) as result:
        result()
    assert callers[-1] is threading.current_thread()
