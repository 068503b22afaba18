"""What is given of a query is what the model makes of it, and each text goes through it once."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from xkg.embeddings.base import EncodedText
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


def test_each_text_goes_through_the_model_once() -> None:
    model = Model()
    vectors = QueryEncoder(lambda: model)
    with ThreadPoolExecutor(5) as threads:
        found = list(threads.map(vectors, [["b"], ["cc", "b"], ["ddd", "b", "ddd"], ["cc"]] * 5))
    assert [rows(each) for each in found[:2]] == [[[1, 98]], [[2, 99], [1, 98]]]
    assert sorted(model.asked) == ["b", "cc", "ddd"]
