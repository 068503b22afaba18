"""Tests that no more runs start than there are slots."""

from xkg.sandbox.evidence.run_slots import RunSlots, slots_for
from xkg.sandbox.runner import Limits


def test_memory_bounds_them_and_there_is_always_one() -> None:
    assert RunSlots(0).count == 1
    assert 1 <= slots_for(Limits(memory_mb=1 << 40)).count <= 2
    assert slots_for(Limits(memory_mb=1)).count >= slots_for(Limits(memory_mb=1 << 40)).count
