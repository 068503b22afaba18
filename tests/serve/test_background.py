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
