import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from xkg.store.indexes.vectors import RECALL_GOAL, VectorIndex, build, edited, neighbours_of


def unit_rows(count: int, dimension: int, seed: int = 0, clusters: int = 0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((count, dimension))
    if clusters:
        rows = 0.4 * rows + rng.standard_normal((clusters, dimension))[rng.integers(clusters, size=count)]
    result: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return result


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_exact_search_is_the_sorted_inner_product(
    tmp_path_factory: pytest.TempPathFactory, count: int, k: int, seed: int
) -> None:
    path = tmp_path_factory.mktemp("v") / "index"
    vectors = unit_rows(count, 8, seed)
    info = build(path, vectors)
    assert info.kind == "exact"
    index = VectorIndex(path, info)
    query = unit_rows(1, 8, seed + 1)[0]
    hits = index.search(query, k)
    truth = vectors @ query
    assert [row for row, _ in hits] == np.argsort(-truth, kind="stable")[:k].tolist()
    assert [score for _, score in hits] == pytest.approx(np.sort(truth)[::-1][:k].tolist(), abs=1e-5)
    wanted = list(range(0, count, 3))
    assert {row for row, _ in index.search(query, count, wanted)} == set(wanted)
    assert index.search(query, k, []) == []
    exact = index.exact_rows(wanted)
    assert exact is not None
    assert np.array_equal(exact, vectors[wanted])


def test_above_the_limit_lists_reach_the_recall_that_is_stated(tmp_path: Path) -> None:
    vectors = unit_rows(4000, 32, clusters=60)
    info = build(tmp_path / "index", vectors, exact_up_to=1000)
    assert info.kind == "ivf-fp16"
    assert info.recall >= RECALL_GOAL
    index = VectorIndex(tmp_path / "index", info)
    assert len(index) == 4000
    assert index.exact_rows([1]) is None
    found = shared = 0
    for query in unit_rows(100, 32, seed=5, clusters=60):
        truth = set(np.argsort(-(vectors @ query))[:10].tolist())
        hits = index.search(query, 10)
        assert [s for _, s in hits] == sorted((s for _, s in hits), reverse=True)
        shared += len(truth & {row for row, _ in hits})
        found += 10
    assert shared / found > 0.8, "also for queries that are none of its vectors"
    farthest = np.argsort(vectors @ vectors[0])[:5].tolist()
    found_far = {row for row, _ in index.search(vectors[0], 5, farthest)}
    assert found_far == set(farthest), "a filter finds its rows in lists that are far away"
    for query in unit_rows(5, 32, seed=7, clusters=60):
        truth = vectors @ query
        mean, deviation = index.background(query)
        assert mean == pytest.approx(float(truth.mean()), abs=0.2 * float(truth.std()))
        assert deviation == pytest.approx(float(truth.std()), rel=0.15)
        assert index.background(query) == (mean, deviation)


def test_neighbours_are_mutual_nearest_rows_of_other_groups(tmp_path: Path) -> None:
    vectors = unit_rows(600, 32, clusters=40)
    groups = np.arange(600) // 6
    products = vectors @ vectors.T
    nearest = {
        (row, group): int(6 * group + np.argmax(products[row, 6 * group : 6 * group + 6]))
        for row in range(600)
        for group in range(100)
    }
    truth = {
        (row, other)
        for (row, group), other in nearest.items()
        if row < other and groups[row] != group and products[row, other] >= 0.7 and nearest[other, row // 6] == row
    }

    def found(exact_up_to: int) -> set[tuple[int, int]]:
        info = build(tmp_path / "index", vectors, exact_up_to=exact_up_to)
        numbers, near, scores = VectorIndex(tmp_path / "index", info).within(vectors, 0.7)
        pairs = neighbours_of(numbers, near, scores, groups)
        assert len(set(pairs)) == len(pairs)
        return {pair for pair in pairs if products[pair] >= 0.7}

    assert found(2000) == truth
    assert len(found(300) & truth) > 0.8 * len(truth)


@pytest.mark.parametrize("exact_up_to", [5000, 1000])
def test_a_changed_index_finds_what_it_holds(tmp_path: Path, exact_up_to: int) -> None:
    vectors, added = unit_rows(4000, 32, clusters=60), unit_rows(30, 32, seed=3)
    info = build(tmp_path / "index", vectors, exact_up_to=exact_up_to)
    removed = [0, 7, 2500, 3998, 3999]
    info = edited(tmp_path / "index", info, tmp_path / "changed", removed, 3998, added)
    index = VectorIndex(tmp_path / "changed", info)
    assert len(index) == 4000 - 5 + 30
    assert index.search(added[3], 1)[0][0] == 3998 + 3
    assert index.search(vectors[8], 1)[0][0] == 8
    assert not {row for row, _ in index.search(vectors[7], 50)} & {0, 7, 2500}
    assert np.allclose(index.vectors([4000, 9]), [added[2], vectors[9]], atol=1e-3)
    numbers, near, _ = index.within(vectors[7:9], 0.99)
    assert (numbers.tolist(), near.tolist()) == ([1], [8])


def test_without_faiss_a_large_index_is_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    vectors = unit_rows(60, 8)
    index = VectorIndex(tmp_path / "index", build(tmp_path / "index", vectors, exact_up_to=50))
    assert index.search(vectors[7], 1)[0][0] == 7
    assert "searching 60 techniques compares every vector" in caplog.text
