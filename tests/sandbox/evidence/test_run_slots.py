import threading
import time

from xkg.sandbox.evidence.run_slots import RunSlots, slots_for
from xkg.sandbox.runner import Limits


def test_there_are_never_more_than_slots() -> None:
    slots, lock = RunSlots(2), threading.Lock()
    under_way, most = 0, 0

    def run() -> None:
        nonlocal under_way, most
        with slots.free:
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
