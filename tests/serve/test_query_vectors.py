"""Vectors of queries are those of the model, and each text goes through it once."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from xkg.errors import EmbeddingError
from xkg.serve.query_vectors import QueryVectors


class Model:
    model = "letters"
    dimension = 2

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        return np.array([[len(text), ord(text[0])] for text in texts], np.float32)


def test_a_text_goes_through_the_model_once() -> None:
    model = Model()
    vectors = QueryVectors(lambda: model)
    first = vectors(["a", "bb", "a"])
    assert first.tolist() == [[1, 97], [2, 98], [1, 97]]
    first[:] = 0  # what a caller does with it is its own affair
    assert vectors(["bb", "ccc"]).tolist() == [[2, 98], [3, 99]]
    assert model.asked == ["a", "bb", "ccc"]


@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5), max_size=20))
def test_a_small_memory_gives_the_same_vectors(asked: list[list[str]]) -> None:
    model = Model()
    vectors = QueryVectors(lambda: model, kept=2)
    for texts in asked:
        assert vectors(texts).tolist() == Model().embed(texts).tolist()
        assert len(vectors._kept) <= 2


def test_what_the_model_could_not_do_is_tried_again() -> None:
    models: list[Model] = []

    def model() -> Model:
        if not models:
            models.append(Model())
            raise EmbeddingError("no weights")
        return models[0]

    vectors = QueryVectors(model)
    with pytest.raises(EmbeddingError):
        vectors(["a"])
    assert vectors(["a"]).shape == (1, 2)
