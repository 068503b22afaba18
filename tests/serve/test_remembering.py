from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.serve.remembering import Remembered


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_what_is_asked_again_is_not_made_again_while_it_is_kept(asked: list[int], kept: int) -> None:
    made: list[int] = []
    remembered: Remembered[int] = Remembered(kept)
    recent: list[int] = []
    for key in asked:
        before = len(made)
        assert remembered.get(key, lambda key=key: made.append(key) or -key) == -key  # type: ignore[misc]
        assert (len(made) == before) == (key in recent)
        recent = [key, *(other for other in recent if other != key)][:kept]
    assert remembered.known(range(10)) == {key: -key for key in recent}


def test_a_failure_is_raised_and_not_kept() -> None:
    remembered: Remembered[int] = Remembered()
    with pytest.raises(ZeroDivisionError):
        remembered.get("a", lambda: 1 // 0)
    assert remembered.get("a", lambda: 1) == 1


def test_several_threads_get_what_belongs_to_their_key() -> None:
    remembered: Remembered[int] = Remembered(3)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda n: remembered.get(n % 7, lambda: n % 7), range(2000))) == [
            n % 7 for n in range(2000)
        ]
