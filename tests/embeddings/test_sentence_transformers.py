"""Compares sentence-transformers with the default runtime. It requires torch, which `make test` does not install, so
the tests run only after `pip install -e '.[st]'`."""

import sys

import numpy as np
import pytest

from xkg.config import EmbeddingSettings
from xkg.embeddings.base import MINILM, Embedder
from xkg.embeddings.factory import make_embedder
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.errors import EmbeddingError

CHOSEN = EmbeddingSettings(provider="sentence-transformers")
TEXTS = [
    "",
    "A man is eating food.",
    "Restore a small random share of the weights to the pre-trained checkpoint after each step.",
    "def kernel(x, h):\n    return np.exp(-pdist(x) ** 2 / h)",
    "∇ log p(x) ≤ ‖φ‖, 中文 🙂 e\u0301 \ud800 \x00\x07",
    "word " * 10_000,
]


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        EmbeddingError, match=r"^[^\n]*torch cannot be imported; run `pip install '\.\[st\]'` where xkg was cloned$"
    ):
        make_embedder(CHOSEN)


@pytest.fixture(scope="module")
def installed() -> Embedder:
    pytest.importorskip("sentence_transformers")
    return make_embedder(CHOSEN)


@pytest.fixture(scope="module")
def default() -> OnnxEmbedder:
    return OnnxEmbedder()


def test_vectors_are_those_of_the_default_runtime(installed: Embedder, default: OnnxEmbedder) -> None:
    assert (installed.model, installed.dimension) == (MINILM, default.dimension)
    vectors = installed.embed(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, default.embed(TEXTS), atol=1e-4)
    assert installed.embed([]).shape == (0, default.dimension)
