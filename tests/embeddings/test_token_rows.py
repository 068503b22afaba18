"""Rows of a matrix are read from a file as they are needed."""

import os
from pathlib import Path

import numpy as np
import pytest

from xkg.embeddings.token_rows import TokenRows
from xkg.errors import EmbeddingError

MATRIX = np.arange(60, dtype=np.float32).reshape(20, 3)


@pytest.fixture(params=[True, False], ids=["pread", "seek"])
def rows(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TokenRows:
    if not request.param:
        monkeypatch.delattr(os, "pread", raising=False)
    (tmp_path / "weights").write_bytes(b"header." + MATRIX.tobytes() + b"others")
    return TokenRows(tmp_path / "weights", 7, 20, 3)


def test_the_rows_are_those_of_the_matrix(rows: TokenRows) -> None:
    numbers = np.array([[3, 0, 19], [3, 3, 1]])
    assert np.array_equal(rows.read(numbers), MATRIX[numbers])
    assert rows.read(np.zeros((1, 0), np.int64)).shape == (1, 0, 3)


def test_a_token_without_a_row_is_refused(rows: TokenRows) -> None:
    for number in (-1, 20):
        with pytest.raises(EmbeddingError, match="20 tokens"):
            rows.read(np.array([0, number]))


def test_a_file_that_was_cut_short_meanwhile_is_named(rows: TokenRows, tmp_path: Path) -> None:
    with (tmp_path / "weights").open("r+b") as file:
        file.truncate(100)
    with pytest.raises(EmbeddingError, match="weights is truncated"):
        rows.read(np.array([19]))
