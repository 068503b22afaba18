"""What is given of a query is what the model makes of it, and each text goes through it once."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from xkg.embeddings.base import EncodedText
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import EmbeddingError
from xkg.serve.search.query_encoder import QueryEncoder


class Model:
    model = "letters"
    dimension = 2

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([[len(text), ord(text[0])] for text in texts], np.float32)


def rows(readings: Sequence[EncodedText]) -> list[list[float]]:
    return [reading.vector.tolist() for reading in readings]


class SlowModel(Model):
    """Waits in each run until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[list[str]] = []
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.runs.append(list(texts))
        self.begun.release()
        assert self.go_on.acquire(timeout=60)
        if len(texts) > 1 and "bad" in texts:
            raise EmbeddingError("one of these texts is bad")
        return super().embed(texts)


def waiting(vectors: QueryEncoder, count: int) -> None:
    """Returns when so many callers wait for the next run."""
    until = time.monotonic() + 60
    while (run := vectors._next) is None or run.callers < count:
        assert time.monotonic() < until
        time.sleep(0.001)


def test_who_comes_while_the_model_runs_shares_its_next_run() -> None:
    model = SlowModel()
    vectors = QueryEncoder(lambda: model)
    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(vectors, ["alone"])
        assert model.begun.acquire(timeout=60)
        others = [threads.submit(vectors, texts) for texts in (["b"], ["cc", "b"], ["ddd"])]
        waiting(vectors, 3)
        model.go_on.release(2)
        assert rows(first.result(60)) == [[5, 97]]
        assert [rows(other.result(60)) for other in others] == [[[1, 98]], [[2, 99], [1, 98]], [[3, 100]]]
    assert model.runs[0] == ["alone"]
    assert sorted(model.runs[1]) == ["b", "cc", "ddd"]
    assert len(model.runs) == 2


def test_a_text_that_breaks_the_model_breaks_no_other_answer() -> None:
    model = SlowModel()
    vectors = QueryEncoder(lambda: model)
    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(vectors, ["alone"])
        assert model.begun.acquire(timeout=60)
        good, bad = threads.submit(vectors, ["good"]), threads.submit(vectors, ["bad", "texts"])
        waiting(vectors, 2)
        model.go_on.release(4)
        first.result(60)
        assert rows(good.result(60)) == [[4, 103]]
        with pytest.raises(EmbeddingError):
            bad.result(60)


def test_texts_that_are_asked_for_together_are_read_as_alone() -> None:
    model = OnnxEmbedder()
    texts = ["", "a", "KL penalty", "low-rank factorisation of a weight matrix", "keep it " * 300, "學習率"]
    for found, alone in zip(QueryEncoder(lambda: model)(texts), model.encode(texts), strict=True):
        assert np.abs(found.vector - alone.vector).max() < 1e-6
        assert found.words == alone.words
        assert np.bitwise_count(found.codes ^ alone.codes).sum() <= 2  # a number about 0 has either sign
