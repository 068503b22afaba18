"""Places for runs: never more than there are, the cheapest next."""

import threading
import time

from xkg.sandbox.evidence.run_slots import RunSlots, slots_for
from xkg.sandbox.runner import Limits


def test_the_cheapest_of_those_that_wait_is_next() -> None:
    slots, order, began = RunSlots(1), [], threading.Barrier(4)

    def run(seconds: float) -> None:
        began.wait()
        with slots.turn(seconds):
            order.append(seconds)

    with slots.turn(0):
        threads = [threading.Thread(target=run, args=(seconds,)) for seconds in (9.0, 0.1, 3.0)]
        for thread in threads:
            thread.start()
        began.wait()
        while len(slots._waiting) < 3:
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == [0.1, 3.0, 9.0]


def test_there_are_never_more_than_slots() -> None:
    slots, lock = RunSlots(2), threading.Lock()
    under_way, most = 0, 0

    def run() -> None:
        nonlocal under_way, most
        with slots.turn(1):
            with lock:
                under_way += 1
                most = max(most, under_way)
            time.sleep(0.005)
            with lock:
                under_way -= 1

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2


def test_memory_bounds_them_and_there_is_always_one() -> None:
    assert RunSlots(0).count == 1
    assert 1 <= slots_for(Limits(memory_mb=1 << 40)).count <= 2
    assert slots_for(Limits(memory_mb=1)).count >= slots_for(Limits(memory_mb=1 << 40)).count
