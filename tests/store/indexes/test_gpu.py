"""The GPU build of FAISS without a GPU, and the order of the calls with one, on the CPU build that tests have."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import pytest

from tests.store.indexes.test_vectors import unit_rows
from xkg.store.indexes import gpu
from xkg.store.indexes.vectors import VectorIndex, build

VECTORS = unit_rows(2000, 16, clusters=30)


class Device:
    """Stands for an index on a GPU: counts what is done there."""

    def __init__(self, index: Any, steps: list[str]) -> None:
        self.index, self.steps = index, steps

    def train(self, vectors: Any) -> None:
        self.steps.append("train")
        self.index.train(vectors)

    def add(self, vectors: Any) -> None:
        self.steps.append("add")
        self.index.add(vectors)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """FAISS as if built for GPUs, with one in the machine; what happens on it."""
    done: list[str] = []
    monkeypatch.setattr(faiss, "StandardGpuResources", object, raising=False)
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 1)
    monkeypatch.setattr(faiss, "index_cpu_to_gpu", lambda _, __, index: Device(index, done), raising=False)
    monkeypatch.setattr(faiss, "index_gpu_to_cpu", lambda device: device.index, raising=False)
    return done


def built(folder: Path) -> list[list[int]]:
    """The ten nearest rows of some vectors, by an index built now."""
    info = build(folder / "index", VECTORS, exact_up_to=1000)
    assert info.kind == "ivf-fp16"
    index = VectorIndex(folder / "index", info)
    assert len(index) == len(VECTORS)
    return [[row for row, _ in index.search(vector, 10)] for vector in VECTORS[:20]]


def test_where_a_gpu_is_the_index_is_trained_and_filled_there(
    steps: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert gpu.missing_gpu() is None
    nearest = built(tmp_path)
    assert steps == ["train", "add"]
    assert [rows[0] for rows in nearest] == list(range(20))
    assert not caplog.records


def without_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 0)


def without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("Error in virtual void* faiss::gpu::alloc:\n  out of memory")

    monkeypatch.setattr(Device, "add", full)


@pytest.mark.parametrize(
    ("take", "reason"), [(without_device, "finds no GPU"), (without_memory, "faiss::gpu::alloc: out of memory")]
)
@pytest.mark.usefixtures("steps")
def test_a_gpu_that_cannot_be_used_costs_one_line_and_no_answer(
    take: Callable[[pytest.MonkeyPatch], None],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with monkeypatch.context() as cpu:
        cpu.delattr(faiss, "StandardGpuResources")
        expected = built(tmp_path)
    take(monkeypatch)
    with caplog.at_level(logging.WARNING):
        assert built(tmp_path) == expected
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("the vector index is built on CPU")
    assert reason in line
    assert "\n" not in line
