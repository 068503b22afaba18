import pytest

from evaluation.speed.gpu import Row, embedding, index, table
from xkg.store.indexes import gpu


def test_without_a_gpu_the_cpu_is_measured_and_the_reason_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "missing_gpu", lambda: "no device here")
    missing: list[str] = []
    rows = index(2000, missing)
    assert missing == ["no index on a GPU: no device here (extra gpu)"]
    assert all(row.cpu is not None and row.gpu is None for row in rows)
    recall = {row.name: row.cpu for row in rows if row.name.endswith("recall@10")}
    assert recall["exact, recall@10"] == 1
    assert table([*rows, Row("not measured", None, None, "s")]).row_count == len(rows) + 1


def test_embedding_is_measured_in_texts_a_second() -> None:
    rate, difference = embedding(["a kernel", "a particle"], [])
    assert rate.cpu is not None
    assert rate.cpu > 0
    assert difference.cpu is None
