"""sentence-transformers beside the default runtime. It brings torch, which `make test` does without: they are compared
where both are installed, `pip install -e '.[cpu,st]'`."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xkg.config import EmbeddingSettings
from xkg.embeddings.base import Embedder, Text, WordEncoder
from xkg.embeddings.factory import make_embedder
from xkg.embeddings.onnx import OnnxEmbedder
from xkg.embeddings.onnx_weights import MINILM
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
        EmbeddingError, match=r"^[^\n]*torch cannot be imported: run `pip install '\.\[st\]'` where xkg was cloned$"
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


def test_words_are_those_of_the_default_runtime(installed: Embedder, default: OnnxEmbedder) -> None:
    assert isinstance(installed, WordEncoder)
    texts = [*TEXTS, Text("Buffer. Replay. Keeps the samples of the stream.", 8, 14)]
    for found, expected in zip(installed.encode(texts), default.encode(texts), strict=True):
        assert found.words == expected.words
        assert found.codes.shape == expected.codes.shape
        differing = np.bitwise_count(found.codes ^ expected.codes).sum()
        assert differing <= 0.002 * 8 * max(1, expected.codes.size), "a number about 0 has either sign"
        np.testing.assert_allclose(found.vector, expected.vector, atol=1e-4)
    assert installed.encode([]) == []


@settings(max_examples=20)
@given(texts=st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_any_texts_have_the_vectors_of_the_default_runtime(
    installed: Embedder, default: OnnxEmbedder, texts: list[str]
) -> None:
    np.testing.assert_allclose(installed.embed(texts), default.embed(texts), atol=1e-4)


@pytest.mark.usefixtures("installed")
def test_a_folder_that_holds_no_model_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EmbeddingError, match=r"^[^\n]*cannot be loaded by sentence-transformers[^\n]*$"):
        make_embedder(EmbeddingSettings(provider="sentence-transformers", weights=tmp_path))
