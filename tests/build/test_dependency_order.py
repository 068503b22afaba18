import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xkg.build.dependency_order import each_of, in_dependency_order
from xkg.errors import XkgError


def test_an_item_begins_when_its_own_needs_are_done_though_others_are_under_way() -> None:
    whole_began = threading.Event()

    def work(item: str) -> str:
        if item == "whole":
            whole_began.set()
        if item == "slow":
            assert whole_began.wait(60), "the composite waited for what it does not need"
        return item.upper()

    done = in_dependency_order(work, ["part", "slow", "whole"], {"whole": ["part", "elsewhere"]}, 2)
    assert done == {"part": "PART", "slow": "SLOW", "whole": "WHOLE"}


def test_after_a_result_that_ends_it_nothing_begins() -> None:
    began: list[int] = []

    def work(item: int) -> int:
        began.append(item)
        return item

    assert in_dependency_order(work, [1, 2, 3], {}, 1, ends=lambda result: result == 2) == {1: 1, 2: 2}
    assert began == [1, 2]


def test_what_work_raises_is_raised() -> None:
    def work(_: int) -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_dependency_order(work, [1, 2], {2: [1]}, 2)


@given(st.lists(st.sets(st.integers(0, 9)), max_size=10), st.integers(1, 4))
def test_all_are_done_once_after_their_needs(below: list[set[int]], jobs: int) -> None:
    needs = {item: {other for other in others if other < item} for item, others in enumerate(below)}
    order: list[int] = []
    lock = threading.Lock()

    def work(item: int) -> int:
        with lock:
            assert needs[item] <= set(order)
            order.append(item)
        return -item

    assert in_dependency_order(work, [*reversed(range(len(below)))], needs, jobs) == {i: -i for i in needs}
    assert sorted(order) == [*range(len(below))]


def test_results_of_each_come_in_order_and_an_error_is_raised_after_what_runs() -> None:
    assert each_of(lambda item: item * item, [3, 1, 2], 2) == [9, 1, 4]
    begun: list[int] = []

    def work(item: int) -> int:
        begun.append(item)
        if item == 2:
            raise XkgError("two")
        return item

    with pytest.raises(XkgError, match="two"):
        each_of(work, [1, 2, 3], 1)
    assert begun == [1, 2]
