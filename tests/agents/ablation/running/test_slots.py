"""Work at a time: order, fillers, errors."""

import threading

import pytest

from xkg.agents.ablation.running.slots import Slots


def test_a_filler_waits_for_all_else() -> None:
    order: list[str] = []
    gate = threading.Event()
    with Slots(1) as slots:
        first = slots.start(lambda: gate.wait(60))
        slots.start(lambda: order.append("filler"), filler=True)
        last = [slots.start(lambda name=name: order.append(name)) for name in ("a", "b")]  # type: ignore[misc]
        gate.set()
        assert first.result()
        for each in last:
            each.result()
    assert order == ["a", "b", "filler"]


def test_an_error_reaches_who_waits_and_the_rest_is_dropped() -> None:
    done: list[int] = []

    def fail() -> None:
        raise ValueError("no sandbox")

    def run() -> None:
        with Slots(1) as slots:
            failed = slots.start(fail)
            gate = threading.Event()
            slots.start(lambda: gate.wait(0.05))
            slots.start(lambda: done.append(1))
            failed.result()

    with pytest.raises(ValueError, match="no sandbox"):
        run()
    assert len(done) <= 1
